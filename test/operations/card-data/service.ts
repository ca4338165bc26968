import { createPrivateKey, type KeyObject } from 'node:crypto'
import { join } from 'node:path'
import { pinKeys, type ServiceKeys } from '../../../packages/sdk/device/device.ts'
import { keyCatalogue } from '../../../src/hsm/contract/catalogue.ts'
import { computeKeyCheckValue } from '../../../src/hsm/keys/key-check.ts'
import { composeHeader } from '../../../src/hsm/keys/key-purposes.ts'
import { readMasterKeys, toMasterKeys } from '../../../src/hsm/software/master-keys.ts'
import { insertHsmKey } from '../../../src/storage/keys/hsm-keys.ts'
import {
  type Answer,
  type CallOptions,
  openTestService,
  type TestService,
  type TestServiceOptions,
} from '../../support/service.ts'
import rsaTestKeys from './rsa-test-keys.json' with { type: 'json' }

/** The whole service with the keys of card data, and a device that speaks to it. */

export const issuer = 'http://127.0.0.1:8080'

type CardDataKeyName = 'card-data-wrap' | 'card-data-sign' | 'card-data-sign-ec' | 'card-data-pin'

export type CardDataService = TestService & {
  serviceKeys: ServiceKeys
  /** Asks for a card's data. */
  getCardData: (publicToken: string, body: object, options?: CallOptions) => Promise<Answer>
}

/** A service whose RSA keys are there: test keys, because drawing them would take seconds. */
export const openCardDataService = async (
  options: TestServiceOptions = {},
): Promise<CardDataService> => {
  const service = await openTestService(options)
  await keepRsaKeys(service)
  const published = await service.call('GET', '//.well-known/jwks.json', { token: null })
  return {
    ...service,
    serviceKeys: pinKeys(issuer, published.json),
    getCardData: (publicToken, body, given = {}) =>
      service.call('POST', `/cards/${publicToken}/encrypted`, { body, ...given }),
  }
}

/** Puts the test keys into a service's key store, under its master key. */
export const keepRsaKeys = async (
  service: Pick<TestService, 'database' | 'dataDir'>,
): Promise<void> => {
  await keepKeyVersion(service, 'card-data-wrap', 1, rsaTestKey('card-data-wrap'))
  await keepKeyVersion(service, 'card-data-sign', 1, rsaTestKey('card-data-sign'))
}

/** Keeps a version of a key, active at once. */
export const keepKeyVersion = async (
  { database, dataDir }: Pick<TestService, 'database' | 'dataDir'>,
  keyName: CardDataKeyName,
  keyVersion: number,
  privateKey: KeyObject,
): Promise<void> => {
  const [masterKey] = await readMasterKeys(join(dataDir, 'master.key'))
  if (!masterKey) throw new Error('The service has no master key.')
  const key = privateKey.export({ format: 'der', type: 'pkcs8' })
  const kind = keyCatalogue[keyName].kind
  await insertHsmKey(database, {
    keyName,
    keyVersion,
    state: 'active',
    keyBlock: toMasterKeys(masterKey).wrap(composeHeader(kind, 'N'), key),
    keyCheckValue: computeKeyCheckValue(kind.algorithm, key),
  })
}

/** A client system that changes nothing: it brings the body to the service and the answer back. */
export const relay = async (
  service: CardDataService,
  publicToken: string,
  body: object,
): Promise<unknown> => {
  const answer = await service.getCardData(publicToken, body)
  if (answer.status !== 200) throw new Error(`No card data: ${answer.text}`)
  return answer.json
}

/** The private half of a test key. */
export const rsaTestKey = (name: 'card-data-wrap' | 'card-data-sign' | 'other'): KeyObject =>
  createPrivateKey({ key: Buffer.from(rsaTestKeys[name], 'base64'), format: 'der', type: 'pkcs8' })
