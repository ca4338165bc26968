import assert from 'node:assert/strict'
import { mock, test } from 'node:test'
import { compactDecrypt, exportJWK, generateKeyPair } from 'jose'
import {
  type CardDataOptions,
  type CardDataRequest,
  type DeviceErrorCode,
  requestCardData,
} from '../../../../packages/sdk/device/device.ts'
import {
  answerDevice,
  card,
  publicToken,
  sealTo,
  service,
  signCard,
  strangerPair,
} from './hostile-relay.ts'

const ask = (options: CardDataOptions = {}) => requestCardData(service, publicToken, options)

const assertRefused = (
  request: CardDataRequest,
  answer: unknown,
  code: DeviceErrorCode,
  what?: string,
): Promise<void> => assert.rejects(request.open(answer), { name: 'DeviceError', code }, what)

const now = () => Math.floor(Date.now() / 1000)

test('an answer to the request is opened', async () => {
  const request = await ask()
  assert.deepEqual(Object.keys(request.body).sort(), ['deviceKey', 'nonce'])
  assert.deepEqual(await request.open(await answerDevice(request)), {
    pan: card.PAN,
    cvv: card.CVV,
    expiryDate: card.expiryDate,
  })
})

test('each request has a key and a nonce of its own, and its private half cannot be read out', async () => {
  const generate = mock.method(crypto.subtle, 'generateKey')
  const requests = await Promise.all([ask(), ask(), ask()])
  for (const { arguments: given } of generate.mock.calls) assert.equal(given[1], false)
  assert.equal(generate.mock.callCount(), requests.length)
  generate.mock.restore()
  const bodies = new Set(requests.flatMap(({ body }) => Object.values(body)).map(String))
  assert.ok(bodies.size >= requests.length)
  for (const { body } of requests) assert.ok(!JSON.stringify(body).includes('"d"'))
})

test('an answer is opened once, and an answer to another request not at all', async () => {
  const [request, other] = await Promise.all([ask(), ask()])
  const answer = await answerDevice(request)
  await assertRefused(other, answer, 'not_sealed_to_device')
  await request.open(answer)
  await assertRefused(request, answer, 'already_opened')
  await assertRefused(request, await answerDevice(request), 'already_opened')
})

test("an answer to a relay's own key, sealed again to the device, is refused", async () => {
  const request = await ask()
  const own = await generateKeyPair('ECDH-ES', { crv: 'P-256', extractable: true })
  const body = { ...request.body, deviceKey: await exportJWK(own.publicKey) }
  const { jwe } = await answerDevice({ body })
  const { plaintext } = await compactDecrypt(jwe, own.privateKey)
  const { deviceKey } = request.body as { deviceKey: object }
  const sealedAgain = await sealTo(deviceKey, Buffer.from(plaintext).toString())
  await assertRefused(request, sealedAgain, 'wrong_recipient')
})

test('an answer of another service, for another card, to another nonce or without a recipient is refused', async () => {
  const faults: [object, DeviceErrorCode][] = [
    [{ iss: 'https://other.example' }, 'wrong_issuer'],
    [{ iss: undefined }, 'wrong_issuer'],
    [{ sub: '4820117361' }, 'wrong_card'],
    [{ sub: undefined }, 'wrong_card'],
    [{ nonce: 'another-nonce-of-24-characters' }, 'wrong_nonce'],
    [{ nonce: undefined }, 'wrong_nonce'],
    [{ cnf: undefined }, 'wrong_recipient'],
    [{ cnf: {} }, 'wrong_recipient'],
    [{ cnf: { jkt: 'x' } }, 'wrong_recipient'],
  ]
  for (const [claims, code] of faults) {
    const request = await ask()
    await assertRefused(request, await answerDevice(request, { claims }), code)
  }
})

test("an answer that is stale or from the future by the device's clock is refused", async () => {
  const times: [number, number | undefined][] = [
    [-72, 60],
    [-20, 60],
    [15, 60],
    [0, 61],
    [0, -20],
    [0, undefined],
  ]
  for (const [issued, life] of times) {
    const request = await ask()
    const iat = now() + issued
    const claims = { iat, exp: life === undefined ? undefined : iat + life }
    await assertRefused(request, await answerDevice(request, { claims }), 'wrong_time')
  }
  const request = await ask()
  const claims = { iat: String(now()), exp: now() + 60 }
  await assertRefused(request, await answerDevice(request, { claims }), 'wrong_time')
  let nowMs = Date.now()
  const late = await ask({ nowMs: () => nowMs })
  const answer = await answerDevice(late)
  nowMs += 75_000
  await assertRefused(late, answer, 'wrong_time', 'kept by the relay for longer than its minute')
  nowMs -= 20_000
  assert.equal((await late.open(answer)).pan, card.PAN)
})

test('an answer with any part changed is refused', async () => {
  const request = await ask()
  const { jwe } = await answerDevice(request)
  const parts = jwe.split('.')
  const names = ['header', 'encrypted key', 'iv', 'ciphertext', 'tag']
  for (const [at, part] of parts.entries()) {
    const changed = (part.startsWith('A') ? 'B' : 'A') + part.slice(1)
    const answer = { jwe: parts.toSpliced(at, 1, changed).join('.') }
    await assert.rejects(request.open(answer), { name: 'DeviceError' }, names[at])
  }
  for (const at of [2, 3, 4]) {
    const part = parts[at] ?? ''
    const changed = (part.startsWith('A') ? 'B' : 'A') + part.slice(1)
    const answer = { jwe: parts.toSpliced(at, 1, changed).join('.') }
    await assertRefused(request, answer, 'not_sealed_to_device')
  }
  const jws = await signCard(request)
  const { deviceKey } = request.body as { deviceKey: object }
  const [header, payload, signature = ''] = jws.split('.')
  const forged = `${header}.${payload}.${signature.startsWith('A') ? 'B' : 'A'}${signature.slice(1)}`
  await assertRefused(request, await sealTo(deviceKey, forged), 'invalid_signature')
  assert.ok(await request.open({ jwe }), 'the one that was not changed')
})

test('an answer that the service did not sign is refused', async () => {
  const request = await ask()
  const { privateKey } = strangerPair
  const stranger = await answerDevice(request, { key: privateKey })
  await assertRefused(request, stranger, 'invalid_signature')
  const unknown = await answerDevice(request, { key: privateKey, header: { kid: 'sign-ec-2' } })
  await assertRefused(request, unknown, 'unknown_key')
  const swapped = await answerDevice(request, { header: { kid: 'pin-1' } })
  await assertRefused(request, swapped, 'unknown_key')
  const untyped = await answerDevice(request, { header: { typ: 'JWT' } })
  await assertRefused(request, untyped, 'malformed_answer')
  const { deviceKey } = request.body as { deviceKey: object }
  const none = `${Buffer.from('{"alg":"none","typ":"card-data+jwt","kid":"sign-ec-1"}').toString('base64url')}.e30.`
  await assertRefused(request, await sealTo(deviceKey, none), 'invalid_signature')
  await assertRefused(request, await sealTo(deviceKey, '{}'), 'malformed_answer')
})

test('the header of an answer is the agreed one and has nothing else', async () => {
  const request = await ask()
  const faults: [Parameters<typeof answerDevice>[2], DeviceErrorCode][] = [
    [{ header: { enc: 'A128GCM' } }, 'not_sealed_to_device'],
    [{ header: { enc: 'A256CBC-HS512' } }, 'not_sealed_to_device'],
    [{ header: { alg: 'ECDH-ES+A256KW' } }, 'not_sealed_to_device'],
    [{ header: { cty: undefined } }, 'malformed_answer'],
    [{ header: { typ: 'JWT' } }, 'malformed_answer'],
    [{ header: { kid: 'x' } }, 'malformed_answer'],
    [{ parties: { apu: Buffer.from('a') } }, 'malformed_answer'],
    [{ parties: { apv: Buffer.from('a') } as object }, 'malformed_answer'],
  ]
  for (const [jwe, code] of faults) {
    await assertRefused(request, await answerDevice(request, {}, jwe), code)
  }
  const { jwe } = await answerDevice(request)
  const [header = '', ...rest] = jwe.split('.')
  const read = JSON.parse(Buffer.from(header, 'base64url').toString())
  for (const change of [{ zip: 'DEF' }, { crit: ['exp'], exp: 1 }, { alg: 'dir' }]) {
    const changed = Buffer.from(JSON.stringify({ ...read, ...change })).toString('base64url')
    await assert.rejects(request.open({ jwe: [changed, ...rest].join('.') }), {
      name: 'DeviceError',
    })
  }
})

test('a body that is no answer is refused, and so is a problem document', async () => {
  const request = await ask()
  const others = [null, undefined, '', 'x', 1, [], {}, { jwe: 1 }, { jwe: '' }, { jwe: 'a.b.c' }]
  for (const answer of [...others, { status: 404, code: 'card_not_found' }]) {
    await assertRefused(request, answer, 'malformed_answer')
  }
})

test('the card is what was asked for: the PIN exactly when it was, and nothing misshapen', async () => {
  const withPin = { ...card, PIN: '4821' }
  const asked = await ask({ includePin: true })
  assert.equal('includePin' in asked.body && asked.body.includePin, true)
  await assertRefused(asked, await answerDevice(asked), 'wrong_content', 'left out')
  const opened = await asked.open(await answerDevice(asked, { claims: { card: withPin } }))
  assert.equal(opened.pin, '4821')
  const unasked = await ask()
  const contents = [withPin, {}, null, 'x', { ...card, PAN: 4000 }, { ...card, CVV: '12' }]
  for (const content of [...contents, { ...card, expiryDate: '2030-13' }]) {
    const answer = await answerDevice(unasked, { claims: { card: content } })
    await assertRefused(unasked, answer, 'wrong_content')
  }
})

test('no refusal repeats what was in the answer', async () => {
  const request = await ask()
  const answer = await answerDevice(request, { claims: { sub: '4820117361' } })
  const error = await request.open(answer).catch((thrown: Error) => thrown)
  assert.ok(error instanceof Error)
  const told = `${error.stack} ${JSON.stringify(error)} ${error.cause}`
  for (const secret of [card.PAN, card.CVV]) assert.ok(!told.includes(secret))
})

test('a token that can be no card, a tolerance beyond a minute, and an unknown form are refused', async () => {
  const code = 'invalid_argument'
  for (const form of ['session-key', 'toString', '']) {
    await assert.rejects(ask(JSON.parse(JSON.stringify({ form }))), { code })
  }
  for (const token of ['', '0820117360', '48201173601', '../x']) {
    await assert.rejects(requestCardData(service, token), { code })
  }
  for (const clockToleranceSeconds of [-1, 61, Number.NaN]) {
    await assert.rejects(ask({ clockToleranceSeconds }), { code })
  }
})
