import { randomBytes, randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { cvv2ServiceCode, generateCvv } from '../../src/crypto/cvv.ts'
import { generatePvv } from '../../src/crypto/pvv.ts'
import { decipherTdesEcb } from '../../src/crypto/tdes.ts'
import { toExpiry } from '../../src/domain/calendar.ts'
import { Cvv2 } from '../../src/domain/cvv2.ts'
import type { PublicToken } from '../../src/domain/identifiers.ts'
import { Pin } from '../../src/domain/pin.ts'
import type { BlockCipher } from '../../src/hsm/contract/catalogue.ts'
import type { PinBlockFormat } from '../../src/hsm/contract/hsm.ts'
import { readMasterKeys, toMasterKeys } from '../../src/hsm/software/master-keys.ts'
import { hashClientSecret } from '../../src/operations/clients/credentials.ts'
import { upsertClient } from '../../src/storage/clients/clients.ts'
import { findHsmKey } from '../../src/storage/keys/hsm-keys.ts'
import { findZoneKey, insertZoneKey } from '../../src/storage/keys/zone-keys.ts'
import { clearBlockKey, clearCvkPair } from '../reference/keys.ts'
import { makePinBlock } from '../reference/pin-blocks.ts'
import { type Answer, type CallOptions, sql, strongPins, type TestService } from './service.ts'

/**
 * Plays the card network: makes PIN blocks under the test zone keys, and asks for authorizations.
 *
 * ```ts
 * const card = await issueCard(service)
 * const answer = await ask(service, { pan: card.pan, pinBlock: pinBlock(service, card) })
 * ```
 */

/** A card with everything that its holder knows of it. */
export type IssuedCard = {
  publicToken: PublicToken
  pan: string
  pin: string
  cvv2: string
  /** `YYYY-MM`. */
  expiry: string
}

export type NamedBlock = { format: string; key: string; data: string }

let asked = 0
/** A different reference for each request. */
const nextReference = (): string => {
  asked += 1
  return `R-${asked}`
}

/** Sends an authorization request; members that every request needs have defaults. */
export const ask = (
  service: TestService,
  members: object,
  options: CallOptions = {},
): Promise<Answer> =>
  service.call('POST', '//network/authorizations', {
    as: 'network',
    listener: 'private',
    body: { entryMode: 'chip', reference: nextReference(), ...members },
    ...options,
  })

/** A test zone key of the demo network, as `sandbox.json` tells it. */
export const zoneKeyValue = ({ sandbox }: TestService, name: string): Buffer => {
  const found = sandbox?.network.zoneKeys.find(({ key }) => key === name)
  if (!found) throw new Error(`There is no zone key ${name}.`)
  return Buffer.from(found.value, 'hex')
}

const formats: Record<PinBlockFormat, 0 | 1 | 3 | 4> = {
  ISO_FORMAT_0: 0,
  ISO_FORMAT_1: 1,
  ISO_FORMAT_3: 3,
  ISO_FORMAT_4: 4,
}

/** A PIN block as a terminal makes it, under the demo network's key for its format. */
export const pinBlock = (
  service: TestService,
  { pan, pin }: Pick<IssuedCard, 'pan' | 'pin'>,
  format: PinBlockFormat = 'ISO_FORMAT_0',
  under: { name?: string; value?: Buffer } = {},
): NamedBlock => {
  const name = under.name ?? (format === 'ISO_FORMAT_4' ? 'zone-b' : 'zone-a')
  const key = under.value ?? zoneKeyValue(service, name)
  const bytes = makePinBlock(pin, { format: formats[format], pan, key })
  return { format, key: name, data: bytes.toString('hex') }
}

/** Composes a request with a PIN, by default the card's own. */
export const pinTry = (service: TestService, card: IssuedCard, pin = card.pin): object => ({
  publicToken: card.publicToken,
  pinBlock: pinBlock(service, { pan: card.pan, pin }),
})

/** Composes a request with a CVV2, by default the card's own. */
export const cvvTry = ({ cvv2, publicToken }: IssuedCard, tried = cvv2): object => ({
  publicToken,
  entryMode: 'ecommerce',
  cvv2: tried,
})

/** Digits of the same length that are others. */
export const otherDigits = (digits: string, step = 1): string =>
  digits.slice(0, -1) + ((Number(digits.slice(-1)) + step) % 10)

/** Makes a card and finds out what its holder would read on it. */
export const issueCard = async (
  service: TestService,
  members: object = {},
  options: CallOptions = {},
): Promise<IssuedCard> => {
  const { expiryDate, maskedPan, publicToken } = await service.createCard(members, options)
  const pan = await recoverPan(service, publicToken, maskedPan)
  const told = await service.call('GET', `/card-pin/${publicToken}/pin`, options)
  const pin = told.status === 200 ? told.json.pin : await choosePin(service, publicToken, pan)
  const cvv2 = await computeCvv2(service, publicToken, pan)
  return { publicToken, pan, pin, cvv2, expiry: expiryDate.slice(0, 7) }
}

/** Finds out what the holder of a card that exists would read on it. */
export const recoverCard = async (service: TestService, token: string): Promise<IssuedCard> => {
  const { json } = await service.call('GET', `/cards/${token}`)
  const { expiryDate, maskedPan, publicToken } = json
  const pan = await recoverPan(service, publicToken, maskedPan)
  const told = await service.call('GET', `/card-pin/${publicToken}/pin`)
  const cvv2 = await computeCvv2(service, publicToken, pan)
  return { publicToken, pan, pin: told.json.pin, cvv2, expiry: expiryDate.slice(0, 7) }
}

/** Sets a PIN that cannot be revealed. */
const choosePin = async (service: TestService, publicToken: PublicToken, pan: string) => {
  for (const pin of strongPins({ maskedPan: pan })) {
    const answer = await service.call('POST', `/card-pin/${publicToken}/pin`, { body: { pin } })
    if (answer.status !== 204) throw new Error(`No PIN was set: ${answer.text}`)
    if (await hasOwnPvv(service, publicToken, pan, pin)) return pin
  }
  throw new Error('Each PIN shares its PVV with another one.')
}

/**
 * Whether no PIN of `otherDigits` has the PVV of this one, as one of ten thousand has. Assumed
 * where the keys are in another HSM.
 */
const hasOwnPvv = async (
  service: TestService,
  publicToken: PublicToken,
  pan: string,
  pin: string,
): Promise<boolean> => {
  const [row] = await sql<{ pvv: string; pinKey: string }>(
    service.database,
    'select pvv, pin_key as "pinKey" from card where public_token = $1',
    [publicToken],
  )
  const key = row && (await unwrapKey(service, row.pinKey))
  if (!key) return true
  const pvk = clearBlockKey('TDES', key)
  const others = [1, 2, 3, 4, 5, 6, 7, 8, 9].map((step) => otherDigits(pin, step))
  const pvvs = await Promise.all(
    others.map((other) => generatePvv(pvk, { pan, pvki: '1', pin: other })),
  )
  return !pvvs.includes(row.pvv)
}

/** A PIN that is not the card's own, and that no rule finds weak for it. */
export const chooseNewPin = ({ pan, pin }: Pick<IssuedCard, 'pan' | 'pin'>): string =>
  strongPins({ maskedPan: pan }).find((each) => each !== pin) ?? ''

const cardRow = async ({ database }: TestService, publicToken: PublicToken) => {
  const [row] = await sql<{ encryptedPan: Uint8Array; cvk: string; expiryDate: string }>(
    database,
    `select encrypted_pan as "encryptedPan", cvk, expiry_date as "expiryDate"
     from card where public_token = $1`,
    [publicToken],
  )
  if (!row) throw new Error('There is no such card.')
  return { publicToken, ...row }
}

/** The PAN, out of a format 0 block for a PIN that is known: the block is their exclusive or. */
export const recoverPan = async (
  service: TestService,
  publicToken: PublicToken,
  maskedPan: string,
): Promise<string> => {
  const card = await cardRow(service, publicToken)
  const zoneKey = await findZoneKey(service.database, 'demo-network', 'zone-a')
  if (!zoneKey) throw new Error('There is no zone key.')
  const { hsm } = service.issuing
  const made = await hsm.generatePinBlock(card, new Pin('0000'), 'ISO_FORMAT_0', zoneKey.keyBlock)
  const clear = decipherTdesEcb(zoneKeyValue(service, 'zone-a'), made.bytes)
  const field = Buffer.from('040000ffffffffff', 'hex').map((byte, at) => byte ^ (clear[at] ?? 0))
  const twelve = Buffer.from(field).toString('hex').slice(4)
  return maskedPan.slice(0, 3) + twelve + maskedPan.slice(-1)
}

/**
 * Computed under the key in clear; where that is in another HSM's hands, found by asking for each
 * value there is.
 */
const computeCvv2 = async (
  service: TestService,
  publicToken: PublicToken,
  pan: string,
): Promise<string> => {
  const card = await cardRow(service, publicToken)
  const expiry = toExpiry(card.expiryDate)
  const key = await unwrapKey(service, card.cvk)
  if (key) {
    const inputs = { pan, expiry: expiry.mmyy(), serviceCode: cvv2ServiceCode }
    return generateCvv(clearCvkPair(key), inputs)
  }
  for (let number = 0; number < 1_000; number += 1) {
    const cvv2 = String(number).padStart(3, '0')
    if (await service.issuing.hsm.verifyCvv2(card, card.cvk, expiry, new Cvv2(cvv2))) return cvv2
  }
  throw new Error('No CVV2 fits the card.')
}

/**
 * A key of the software HSM, under the master key that lies in the service's folder; null of
 * another HSM.
 */
export const unwrapKey = async (
  { database, dataDir }: TestService,
  reference: string,
): Promise<Uint8Array | null> => {
  const [name = '', version] = reference.split('/')
  const row = await findHsmKey(database, name, Number(version))
  try {
    const [masterKey] = await readMasterKeys(join(dataDir, 'master.key'))
    return row && masterKey ? toMasterKeys(masterKey).unwrap(row.keyBlock).key : null
  } catch {
    return null
  }
}

export type TestNetwork = { clientId: string; token: string }

/** Registers another card network. */
export const addNetwork = async (
  service: TestService,
  clientId = `network-${randomUUID()}`,
): Promise<TestNetwork> => {
  const secret = randomBytes(32).toString('base64url')
  await upsertClient(service.database, {
    clientId,
    clientName: 'Another card network',
    kind: 'network',
    scopes: ['authorizations.write'],
    secretHash: hashClientSecret(secret),
    jwks: null,
  })
  const answer = await service.call('POST', '//oauth/token', {
    token: null,
    payload: 'grant_type=client_credentials',
    headers: {
      'content-type': 'application/x-www-form-urlencoded',
      authorization: `Basic ${Buffer.from(`${clientId}:${secret}`).toString('base64')}`,
    },
  })
  return { clientId, token: answer.json.access_token }
}

/** Gives a network a zone key. @returns the key in clear. */
export const addZoneKey = async (
  { database, issuing: { hsm } }: TestService,
  clientId: string,
  keyName: string,
  { algorithm, formats }: { algorithm: BlockCipher; formats: readonly PinBlockFormat[] },
): Promise<Buffer> => {
  const value = Buffer.from(await hsm.generateTestZoneKey(algorithm))
  const imported = await hsm.importClearZoneKey(algorithm, value)
  const row = { clientId, keyName, algorithm, pinBlockFormats: formats, ...imported }
  await insertZoneKey(database, row)
  return value
}
