import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { before, test } from 'node:test'
import { CompactEncrypt, type CompactJWEHeaderParameters, importJWK, type JWK } from 'jose'
import { sealPin } from '../../../packages/sdk/device/device.ts'
import { type Answer, type CreatedCard, sql, strongPins } from '../../support/service.ts'
import { type CardDataService, openCardDataService } from './service.ts'

let service: CardDataService
let card: CreatedCard
let pins: [string, string, string]

before(async () => {
  service = await openCardDataService({ env: { RATE_LIMIT: 'off' } })
  card = await service.createCard()
  pins = strongPins(card)
})

const setPin = (encryptedPin: unknown, headers = {}, { publicToken } = card): Promise<Answer> =>
  service.call('POST', `/card-pin/${publicToken}/pin`, { body: { encryptedPin }, headers })

const currentPin = async ({ publicToken } = card): Promise<string> =>
  (await service.call('GET', `/card-pin/${publicToken}/pin`)).json.pin

const seal = async (pin: string, of = card) =>
  (await sealPin(service.serviceKeys, of.publicToken, pin)).encryptedPin

const pinKey = (): JWK => service.serviceKeys.keys.find(({ alg }) => alg === 'ECDH-ES') ?? {}
const now = () => Math.floor(Date.now() / 1000)

interface Craft {
  envelope?: object
  header?: object
  key?: JWK
  parties?: { apu?: Uint8Array; apv?: Uint8Array }
  text?: string
}

let count = 0

/** An envelope as a device would make it, but for what a test wants otherwise. */
const craft = async ({ envelope, header, key = pinKey(), parties = {}, text }: Craft = {}) => {
  count += 1
  const [pin] = pins
  const { publicToken } = card
  const content = { pin, publicToken, jti: `jti-${count}`, iat: now(), ...envelope }
  const protectedHeader = { alg: 'ECDH-ES', enc: 'A256GCM', typ: 'set-pin+jwe', ...header }
  return new CompactEncrypt(Buffer.from(text ?? JSON.stringify(content)))
    .setProtectedHeader(protectedHeader as unknown as CompactJWEHeaderParameters)
    .setKeyManagementParameters(parties)
    .encrypt(await importJWK(key, 'ECDH-ES'))
}

test('a PIN that was sealed on the device is set, and the client system never had it', async () => {
  for (const pin of pins) {
    assert.equal((await setPin(await seal(pin))).status, 204)
    assert.equal(await currentPin(), pin)
  }
  assert.equal((await setPin(await craft())).status, 204)
  assert.equal(await currentPin(), pins[0])
})

test('a sealed PIN is set where only a check value of it is kept, too', async () => {
  const other = await service.createCard({ cardProduct: 1002 })
  const [pin] = strongPins(other)
  assert.equal((await setPin(await seal(pin, other), {}, other)).status, 204)
  const body = { publicToken: other.publicToken, pin, entryMode: 'chip' }
  const decided = await service.call('POST', '/simulator/authorizations', { body })
  assert.equal(decided.json.pin.result, 'match')
})

const assertRefused = (answer: Answer, what: string): void => {
  const { requestId, ...rest } = answer.json
  const expected = {
    type: '/problems/invalid_encrypted_pin',
    title: 'The encrypted PIN is not valid.',
    status: 422,
    code: 'invalid_encrypted_pin',
  }
  assert.deepEqual(rest, expected, what)
  assert.ok(requestId)
}

test('an envelope is taken once, also when it is sent many times at once', async () => {
  const [pin, other] = pins
  const once = await seal(other)
  const answers = await Promise.all(Array.from({ length: 6 }, () => setPin(once)))
  assert.equal(answers.filter(({ status }) => status === 204).length, 1)
  for (const answer of answers) if (answer.status !== 204) assertRefused(answer, 'at once')
  await setPin(await seal(pin))
  assertRefused(await setPin(once), 'later')
  assert.equal(await currentPin(), pin)
})

test('with an idempotency key the same envelope may be sent again, and nothing is done twice', async () => {
  const headers = { 'idempotency-key': 'encrypted-pin-1' }
  const once = await seal(pins[1])
  const first = await setPin(once, headers)
  const again = await setPin(once, headers)
  assert.deepEqual([first.status, again.status], [204, 204])
  assert.equal(again.headers['idempotency-replayed'], 'true')
  assertRefused(await setPin(once, { 'idempotency-key': 'encrypted-pin-2' }), 'another key')
  const reused = await setPin(await seal(pins[2]), headers)
  assert.equal(reused.json.code, 'idempotency_key_reused')
})

test('every bad envelope has the same answer, and the PIN stays', async () => {
  const [pin] = pins
  await setPin(await seal(pin))
  const other = await service.createCard()
  const stranger = generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey
  const whole = await craft()
  const parts = whole.split('.')
  const [header = '', , iv = ''] = parts
  const withPart = (at: number, part: string) => parts.toSpliced(at, 1, part).join('.')
  const flipped = (part = '') => (part.startsWith('A') ? 'B' : 'A') + part.slice(1)
  const withHeader = (change: object) => {
    const changed = { ...JSON.parse(Buffer.from(header, 'base64url').toString()), ...change }
    return withPart(0, Buffer.from(JSON.stringify(changed)).toString('base64url'))
  }
  const signEc = service.serviceKeys.keys.find(({ alg }) => alg === 'ES256') ?? {}
  const faults: Record<string, string> = {
    'nothing at all': '',
    'no JWE': 'abc',
    'no header': withPart(0, ''),
    'its iv changed': withPart(2, flipped(iv)),
    'its ciphertext changed': withPart(3, flipped(parts[3])),
    'its tag changed': withPart(4, flipped(parts[4])),
    'its tag cut': withPart(4, (parts[4] ?? '').slice(0, -4)),
    'an encrypted key': withPart(1, 'AAAA'),
    'sealed to another key': await craft({ key: stranger.export({ format: 'jwk' }) as JWK }),
    'sealed to the sign-ec key': await craft({ key: { ...signEc, alg: 'ECDH-ES', use: 'enc' } }),
    'no type': await craft({ header: { typ: undefined } }),
    'another type': await craft({ header: { typ: 'JWT' } }),
    'another kid': await craft({ header: { kid: 'card-data-pin-99' } }),
    A128GCM: await craft({ header: { enc: 'A128GCM' } }),
    'A256CBC-HS512': await craft({ header: { enc: 'A256CBC-HS512' } }),
    'ECDH-ES+A256KW': await craft({ header: { alg: 'ECDH-ES+A256KW' } }),
    'alg none': withHeader({ alg: 'none' }),
    'alg dir': withHeader({ alg: 'dir' }),
    'another enc': withHeader({ enc: 'A128GCM' }),
    zip: withHeader({ zip: 'DEF' }),
    crit: withHeader({ crit: ['exp'] }),
    apu: await craft({ parties: { apu: Buffer.from('a') } }),
    apv: await craft({ parties: { apv: Buffer.from('a') } }),
    cty: await craft({ header: { cty: 'json' } }),
    'an epk off the curve': withHeader({
      epk: { kty: 'EC', crv: 'P-256', x: 'A'.repeat(43), y: 'A'.repeat(43) },
    }),
    'another card': await craft({ envelope: { publicToken: other.publicToken } }),
    'no card': await craft({ envelope: { publicToken: undefined } }),
    'no jti': await craft({ envelope: { jti: undefined } }),
    'an empty jti': await craft({ envelope: { jti: '' } }),
    'a jti that is too long': await craft({ envelope: { jti: 'a'.repeat(256) } }),
    'no iat': await craft({ envelope: { iat: undefined } }),
    'an iat that is text': await craft({ envelope: { iat: String(now()) } }),
    'an iat in milliseconds': await craft({ envelope: { iat: Date.now() } }),
    stale: await craft({ envelope: { iat: now() - 303 } }),
    'from the future': await craft({ envelope: { iat: now() + 65 } }),
    'a PIN that is a number': await craft({ envelope: { pin: 7193 } }),
    'a PIN of letters': await craft({ envelope: { pin: 'abcd' } }),
    'a PIN of three digits': await craft({ envelope: { pin: '719' } }),
    'a PIN of another length than the product': await craft({ envelope: { pin: '719340' } }),
    'another member': await craft({ envelope: { extra: 1 } }),
    'no JSON': await craft({ text: '{' }),
    'an array': await craft({ text: '[]' }),
    null: await craft({ text: 'null' }),
  }
  for (const [what, fault] of Object.entries(faults)) assertRefused(await setPin(fault), what)
  assert.equal(await currentPin(), pin)
  const ofOther = await setPin(await seal(pin), {}, other)
  assertRefused(ofOther, "an envelope of another card on this card's path")
  assert.equal((await setPin(whole)).status, 204, 'what all of them were made from')
})

test('an envelope is good for 300 seconds, and a device may be 60 seconds ahead', async () => {
  for (const seconds of [-298, 58]) {
    for (const iat of [now() + seconds, now() + seconds + 0.25]) {
      assert.equal((await setPin(await craft({ envelope: { iat } }))).status, 204)
    }
  }
})

test('a weak PIN in an envelope is refused without a word on why, and the envelope is not used up', async () => {
  const weak = await seal('1234')
  for (const _ of ['first', 'again']) {
    const { json, status } = await setPin(weak)
    assert.deepEqual([status, json.code], [422, 'weak_pin'])
    assert.deepEqual([json.detail, json.errors], [undefined, undefined])
  }
})

test('exactly one of pin, cardPin and encryptedPin is taken', async () => {
  const [pin] = pins
  const encryptedPin = await seal(pin)
  const path = `/card-pin/${card.publicToken}/pin`
  for (const body of [{ encryptedPin, pin }, { encryptedPin, cardPin: pin }, {}]) {
    const { json, status } = await service.call('POST', path, { body })
    assert.deepEqual([status, json.code, json.errors[0].pointer], [422, 'validation_failed', ''])
  }
  assert.equal((await setPin(1)).json.code, 'validation_failed')
  const body = { encryptedPin, description: 'chosen in the app', updatedBy: 'app' }
  assert.equal((await service.call('POST', path, { body })).status, 204)
})

test('only the hash and the expiry of an envelope are stored', async () => {
  const rows = await sql<{ hash: Uint8Array; left: number }>(
    service.database,
    `select jti_hash as hash, extract(epoch from expires_at - now())::int as left from pin_envelope`,
  )
  assert.ok(rows.length > 5)
  for (const { hash, left } of rows) {
    assert.equal(hash.length, 32)
    assert.ok(left <= 361)
  }
})
