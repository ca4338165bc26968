import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { mock, test } from 'node:test'
import {
  type CardDataOptions,
  type CardDataRequest,
  type DeviceErrorCode,
  pinKeys,
  requestCardData,
} from '../../../../packages/sdk/device/device.ts'
import {
  answerSession,
  card,
  issuer,
  jwks,
  publicToken,
  service,
  wrapKeyAsSigner,
  wrongSigner,
} from './hostile-relay.ts'

const ask = (options: CardDataOptions = {}) =>
  requestCardData(service, publicToken, { form: 'sessionKey', ...options })

const assertRefused = (
  request: CardDataRequest,
  answer: unknown,
  code: DeviceErrorCode,
  what?: string,
): Promise<void> => assert.rejects(request.open(answer), { name: 'DeviceError', code }, what)

const now = () => Math.floor(Date.now() / 1000)

test('an answer to the request is opened', async () => {
  const request = await ask({ includePin: true })
  assert.deepEqual(Object.keys(request.body).sort(), ['includePin', 'key'])
  const answer = answerSession(request, { members: { PIN: '4821' } })
  const { pin, ...rest } = await request.open(answer)
  assert.equal(pin, '4821')
  assert.deepEqual(rest, { pan: card.PAN, cvv: card.CVV, expiryDate: card.expiryDate })
  await assertRefused(request, answer, 'already_opened')
})

test('the session key cannot be read out of the device', async () => {
  const imported = mock.method(crypto.subtle, 'importKey')
  await ask()
  const session = imported.mock.calls.find(({ arguments: given }) => given[0] === 'raw')
  assert.equal(session?.arguments[3], false)
  assert.ok(Buffer.from(session?.arguments[1] as Uint8Array).equals(Buffer.alloc(32)), 'wiped')
  imported.mock.restore()
})

test('an answer with any byte of it changed is refused before it is deciphered', async () => {
  const request = await ask()
  const answer = answerSession(request)
  const decrypt = mock.method(crypto.subtle, 'decrypt')
  for (const name of ['iv', 'encryptedPayload', 'signatureOfPayloadAndIv'] as const) {
    const bytes = Buffer.from(answer[name], 'base64')
    for (const at of [0, bytes.length - 1]) {
      const changed = Buffer.from(bytes)
      changed[at] = (changed[at] ?? 0) ^ 1
      const forged = { ...answer, [name]: changed.toString('base64') }
      await assertRefused(request, forged, 'invalid_signature', name)
    }
    await assertRefused(request, { ...answer, [name]: `${answer[name]} ` }, 'malformed_answer')
    await assertRefused(request, { ...answer, [name]: undefined }, 'malformed_answer')
  }
  assert.equal(decrypt.mock.callCount(), 0)
  decrypt.mock.restore()
  assert.ok(await request.open(answer), 'the one that was not changed')
})

test('an answer that is not signed by the sign key, with a salt of 32 bytes, is refused', async () => {
  const request = await ask()
  for (const fault of [{ signer: wrongSigner }, { signer: wrapKeyAsSigner }, { saltLength: 20 }]) {
    await assertRefused(request, answerSession(request, fault), 'invalid_signature')
  }
})

test('an answer under another session key, replayed or resealed, is refused', async () => {
  const [request, other] = await Promise.all([ask(), ask()])
  await assertRefused(request, answerSession(other), 'not_sealed_to_device')
  const session = randomBytes(32)
  await assertRefused(request, answerSession(request, { session }), 'not_sealed_to_device')
})

test('an answer for another card, stale, from the future or without its PIN is refused', async () => {
  const faults: [object, DeviceErrorCode][] = [
    [{ publicToken: '4820117361' }, 'wrong_card'],
    [{ publicToken: undefined }, 'wrong_card'],
    [{ iat: now() - 72 }, 'wrong_time'],
    [{ iat: now() + 15 }, 'wrong_time'],
    [{ iat: undefined }, 'wrong_time'],
    [{ iat: String(now()) }, 'wrong_time'],
    [{ PIN: '4821' }, 'wrong_content'],
    [{ PAN: undefined }, 'wrong_content'],
  ]
  for (const [members, code] of faults) {
    const request = await ask()
    await assertRefused(request, answerSession(request, { members }), code)
  }
})

test('keys that changed places, or have another use than they say, wrap nothing', async () => {
  const [wrap, sign, ...rest] = jwks.keys
  const swapped = pinKeys(issuer, {
    keys: [{ ...wrap, n: sign?.n }, { ...sign, n: wrap?.n }, ...rest],
  })
  const request = await requestCardData(swapped, publicToken, { form: 'sessionKey' })
  assert.throws(() => answerSession(request), 'the service cannot open it with its wrap key')
  const misused = { ...sign, alg: 'RSA-OAEP-256' }
  assert.throws(() => pinKeys(issuer, { keys: [misused] }), { code: 'invalid_keys' })
  const none = pinKeys(issuer, { keys: [sign, ...rest] })
  const refused = requestCardData(none, publicToken, { form: 'sessionKey' })
  await assert.rejects(refused, { code: 'key_missing' })
})
