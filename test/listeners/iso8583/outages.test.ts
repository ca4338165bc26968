import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { Pan } from '../../../src/domain/pan.ts'
import { Problem } from '../../../src/domain/problem.ts'
import { Secret } from '../../../src/domain/secret.ts'
import { toTransaction } from '../../../src/domain/transaction.ts'
import type { Hsm } from '../../../src/hsm/contract/hsm.ts'
import {
  type AuthorizationContext,
  createZoneKeyCache,
} from '../../../src/operations/authorizations/authorization.ts'
import {
  createLinkAuthorizer,
  type NetworkRequest,
} from '../../../src/operations/links/authorization-requests.ts'
import type { Database } from '../../../src/storage/engine/database.ts'
import { type IssuedCard, issueCard, otherDigits, pinBlock } from '../../support/network.ts'
import { openTestService, type TestService } from '../../support/service.ts'

let service: TestService
let card: IssuedCard
before(async () => {
  service = await openTestService({ env: { RATE_LIMIT: 'off' } })
  card = await issueCard(service)
})

const away = async (): Promise<never> => {
  throw new Problem('unavailable')
}

const operations = (faults: {
  hsm?: Partial<Hsm>
  database?: Partial<Database>
}): AuthorizationContext => ({
  database: { ...service.database, ...faults.database },
  hsm: { ...service.issuing.hsm, ...faults.hsm },
  zoneKeys: createZoneKeyCache(),
  now: () => new Date(),
  observe: {
    answered: () => undefined,
    checked: () => undefined,
    decided: () => undefined,
    mistakeCounted: () => undefined,
    hsmFaulted: () => undefined,
    chipResultsLost: () => undefined,
  },
})

let asked = 0
const wrongPin = (): NetworkRequest => {
  asked += 1
  return {
    networkId: 'demo-network',
    requestId: 'r',
    pan: new Pan(card.pan),
    entryMode: 'chip',
    cardRead: 'none',
    reference: 'R1',
    pinBlock: pinBlock(service, { pan: card.pan, pin: otherDigits(card.pin) }) as never,
    key: `key ${asked}`,
    content: new Secret(`ISO8583 1\n${asked}`),
    transaction: toTransaction({}),
    raise: null,
    numbers: { reference: `R${asked}`, terminal: 'T', merchant: 'M' },
    original: { messageClass: '1', trace: '000001', transmittedAt: '', acquirer: '' },
  }
}

const triesOf = async (): Promise<number> =>
  (await service.call('GET', `/card-pin/${card.publicToken}/pin/status`)).json.remainingTries

test('a database that is away answers 91, and spends no try', async () => {
  const questions = createLinkAuthorizer(
    operations({ database: { query: away, readRow: away, change: away } }),
  )
  assert.equal((await questions.authorize(wrongPin())).outcome, '91')
  assert.equal(await triesOf(), 3)
})

test('an HSM that is silent answers 96, whichever of its verbs is', async () => {
  const verbs = ['fingerprintPan', 'fingerprintRequest', 'openPinBlock', 'verifyPin'] as const
  for (const verb of verbs) {
    const questions = createLinkAuthorizer(operations({ hsm: { [verb]: away } }))
    assert.equal((await questions.authorize(wrongPin())).outcome, '96', verb)
  }
  assert.equal(await triesOf(), 3)
})
