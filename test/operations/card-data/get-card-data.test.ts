import assert from 'node:assert/strict'
import { webcrypto } from 'node:crypto'
import { before, mock, test } from 'node:test'
import { calculateJwkThumbprint } from 'jose'
import { requestCardData } from '../../../packages/sdk/device/device.ts'
import { type Answer, type CreatedCard, sql, strongPins } from '../../support/service.ts'
import { type CardDataService, openCardDataService, relay } from './service.ts'

let service: CardDataService
let card: CreatedCard

before(async () => {
  service = await openCardDataService({ env: { RATE_LIMIT: 'off' } })
  card = await service.createCard()
})

const forms = ['deviceKey', 'sessionKey'] as const
type Form = (typeof forms)[number]

const ask = (form: Form, includePin = false, { publicToken } = card) =>
  requestCardData(service.serviceKeys, publicToken, { form, includePin })

const open = async (form: Form, includePin = false, of = card) => {
  const request = await ask(form, includePin, of)
  return request.open(await relay(service, of.publicToken, request.body))
}

const disclosures = (publicToken: string) =>
  sql<{ details: string; requestId: string }>(
    service.database,
    `select details, request_id as "requestId" from event
     where public_token = $1 and type = 'card_data.revealed' order by sequence`,
    [publicToken],
  )

test('in both forms the device reads the card that was issued, with the CVV2 that is accepted', async () => {
  for (const form of forms) {
    const { cvv, expiryDate, pan, pin } = await open(form)
    assert.equal(`${pan.slice(0, 6)}******${pan.slice(-4)}`, card.maskedPan)
    assert.equal(expiryDate, card.expiryDate.slice(0, 7))
    assert.equal(pin, undefined)
    const body = { publicToken: card.publicToken, cvv, entryMode: 'ecommerce' }
    const decided = await service.call('POST', '/simulator/authorizations', { body })
    assert.equal(decided.json.cvv.result, 'match', form)
  }
})

test('the PIN is in it exactly when it is asked for', async () => {
  const [pin] = strongPins(card)
  await service.call('POST', `/card-pin/${card.publicToken}/pin`, { body: { pin } })
  for (const form of forms) {
    assert.equal((await open(form, true)).pin, pin)
    assert.equal((await open(form, false)).pin, undefined)
  }
})

test('without the scope pin.encrypted the PIN is refused by name, and never left out in silence', async () => {
  const token = await service.token('cards.encrypted')
  for (const form of forms) {
    const { body } = await ask(form, true)
    const refused = await service.getCardData(card.publicToken, body, { token })
    assert.deepEqual([refused.status, refused.json.code], [403, 'insufficient_scope'])
    assert.match(refused.json.detail, /pin\.encrypted/)
    const { body: without } = await ask(form)
    assert.equal((await service.getCardData(card.publicToken, without, { token })).status, 200)
  }
  for (const malformed of [{ includePin: true }, { includePin: true, key: 1, nonce: '' }]) {
    const refused = await service.getCardData(card.publicToken, malformed, { token })
    assert.deepEqual([refused.status, refused.json.code], [403, 'insufficient_scope'])
  }
  const other = await service.token('pin.encrypted cards.read')
  const { body } = await ask('deviceKey')
  assert.equal((await service.getCardData(card.publicToken, body, { token: other })).status, 403)
})

test('a PIN that is not kept to be shown is refused, and the rest of the card is not', async () => {
  const sealed = await service.createCard({ cardProduct: 1002 })
  for (const form of forms) {
    const { body } = await ask(form, true, sealed)
    const refused = await service.getCardData(sealed.publicToken, body)
    assert.deepEqual([refused.status, refused.json.code], [409, 'pin_not_revealable'])
    assert.equal((await open(form, false, sealed)).pin, undefined)
  }
  assert.equal((await disclosures(sealed.publicToken)).length, 2)
})

test('each disclosure is one event with its form, its device and whether with the PIN', async () => {
  const told = await service.createCard()
  const expected = []
  for (const form of forms) {
    for (const includePin of [false, true]) {
      const requestId = `told-${form}-${includePin}`
      const { body } = await ask(form, includePin, told)
      const headers = { 'x-request-id': requestId }
      assert.equal((await service.getCardData(told.publicToken, body, { headers })).status, 200)
      const device = 'deviceKey' in body ? await calculateJwkThumbprint(body.deviceKey) : null
      const clientId = service.sandbox?.clientId
      expected.push({ clientId, requestId, form, includePin, ...(device && { device }) })
    }
  }
  const events = await disclosures(told.publicToken)
  assert.deepEqual(
    events.map(({ details }) => JSON.parse(details)),
    expected,
  )
})

test('a card in a final status tells nothing', async () => {
  const closed = await service.createCard()
  const path = `/cards/${closed.publicToken}/status`
  await service.call('PUT', path, { body: { cardStatusCode: '46' } })
  for (const form of forms) {
    const { body } = await ask(form, false, closed)
    const refused = await service.getCardData(closed.publicToken, body)
    assert.deepEqual([refused.status, refused.json.code], [409, 'card_closed'])
  }
  assert.equal((await disclosures(closed.publicToken)).length, 0)
})

test("another client's card is answered like one that does not exist, whatever else is wrong", async () => {
  const { body } = await ask('deviceKey', true)
  const bodies = [body, (await ask('sessionKey')).body, { key: 'nonsense' }]
  for (const each of bodies) {
    for (const [token, as] of [
      [card.publicToken, 'otherClient'],
      ['9999999999', 'client'],
    ] as const) {
      const refused = await service.getCardData(token, each, { as })
      assert.deepEqual([refused.status, refused.json.code], [404, 'card_not_found'])
    }
  }
})

test('an idempotency key has no effect: each answer is sealed and recorded anew', async () => {
  const again = await service.createCard()
  const { body } = await ask('deviceKey', false, again)
  const headers = { 'idempotency-key': 'card-data-1' }
  const first = await service.getCardData(again.publicToken, body, { headers })
  const second = await service.getCardData(again.publicToken, body, { headers })
  assert.deepEqual([first.status, second.status], [200, 200])
  assert.notEqual(first.json.jwe, second.json.jwe)
  assert.equal(second.headers['idempotency-replayed'], undefined)
  assert.equal((await disclosures(again.publicToken)).length, 2)
})

test('HEAD and GET are refused, and no answer may be stored', async () => {
  for (const method of ['HEAD', 'GET']) {
    const answer = await service.call(method, `/cards/${card.publicToken}/encrypted`)
    assert.equal(answer.status, 405)
    assert.equal(answer.headers.allow, 'POST')
  }
  const { body } = await ask('deviceKey')
  const { headers } = await service.getCardData(card.publicToken, body)
  assert.equal(headers['cache-control'], 'no-store')
})

test('a body is one form, whole, and nothing of the other', async () => {
  const { body: device } = await ask('deviceKey')
  const { body: session } = await ask('sessionKey')
  const { nonce, ...withoutNonce } = { nonce: '', ...device }
  const rest = {
    paddingMode: 'PKCS2_2',
    encryptionKeyLength: 'Rsa4096',
    hashingAlgorithm: 'Sha256',
  }
  assert.equal((await service.getCardData(card.publicToken, { ...session, ...rest })).status, 200)
  const faults: [object, ...string[]][] = [
    [{}, ''],
    [{ ...device, ...session }, ''],
    [{ nonce }, ''],
    [withoutNonce, '/nonce'],
    [{ ...device, nonce: 'short' }, '/nonce'],
    [{ ...device, nonce: `${nonce}=` }, '/nonce'],
    [{ ...device, nonce: 'a'.repeat(65) }, '/nonce'],
    [{ ...session, nonce }, '/nonce'],
    [{ ...device, paddingMode: 'PKCS2_2' }, '/paddingMode'],
    [{ ...session, paddingMode: 'PKCS1' }, '/paddingMode'],
    [{ ...session, encryptionKeyLength: 'Rsa2048' }, '/encryptionKeyLength'],
    [{ ...session, hashingAlgorithm: 'Sha1' }, '/hashingAlgorithm'],
    [{ ...device, includePin: 'true' }, '/includePin'],
    [{ ...device, alg: 'none' }, '/alg'],
    [{ key: 1 }, '/key'],
    [{ nonce: 'short' }, '/nonce', ''],
    [{ ...session, nonce, paddingMode: 'PKCS1' }, '/paddingMode', '/nonce'],
  ]
  for (const [body, ...expected] of faults) {
    const { json, status } = await service.getCardData(card.publicToken, body)
    assert.deepEqual([status, json.code], [422, 'validation_failed'])
    const pointers = json.errors.map(({ pointer }: { pointer: string }) => pointer)
    for (const pointer of expected) assert.ok(pointers.includes(pointer), `${pointer}: ${pointers}`)
  }
})

const revealFrom = async (from: CardDataService, publicToken: string) => {
  const { body } = await requestCardData(from.serviceKeys, publicToken)
  return from.getCardData(publicToken, body)
}

test('card data and PIN are told ten times an hour per card together; what is refused costs nothing', async () => {
  const limited = await openCardDataService({ env: { REVEALS_PER_CLIENT_HOUR: '14' } })
  const revealPin = (publicToken: string) => limited.call('GET', `/card-pin/${publicToken}/pin`)
  const { publicToken } = await limited.createCard()
  const refused = await limited.getCardData(publicToken, { key: 'nonsense' })
  assert.equal(refused.status, 422)
  for (let use = 1; use <= 5; use += 1) {
    assert.equal((await revealFrom(limited, publicToken)).status, 200)
    assert.equal((await revealPin(publicToken)).status, 200)
  }
  for (const eleventh of [await revealFrom(limited, publicToken), await revealPin(publicToken)]) {
    assert.deepEqual([eleventh.status, eleventh.json.code], [429, 'rate_limited'])
    assert.ok(Number(eleventh.headers['retry-after']) >= 1)
  }
  // A client's hour is one for all its cards.
  const other = await limited.createCard()
  for (let use = 11; use <= 14; use += 1) {
    assert.equal((await revealFrom(limited, other.publicToken)).status, 200)
  }
  assert.equal((await revealFrom(limited, other.publicToken)).status, 429)
})

test('when a card or a client has had its bad session keys of an hour, the good ones are refused with them', async () => {
  const limited = await openCardDataService({
    env: { BAD_SESSION_KEYS_PER_CARD_HOUR: '10', BAD_SESSION_KEYS_PER_CLIENT_HOUR: '25' },
  })
  const cards = await Promise.all([1, 2, 3, 4].map(() => limited.createCard()))
  const [first, second, third, fourth] = cards.map(({ publicToken }) => publicToken)
  const bad = (publicToken: string | undefined) =>
    limited.getCardData(String(publicToken), { key: 'nonsense' })
  const good = async (publicToken: string | undefined) => {
    const options = { form: 'sessionKey' } as const
    const { body } = await requestCardData(limited.serviceKeys, String(publicToken), options)
    return limited.getCardData(String(publicToken), body)
  }
  const isRefused = async (asked: Promise<Answer>) => {
    const { headers, json, status } = await asked
    assert.deepEqual([status, json.code], [429, 'rate_limited'])
    const waitSeconds = Number(headers['retry-after'])
    assert.ok(waitSeconds >= 1 && waitSeconds <= 3_600, `${waitSeconds}`)
  }
  for (const token of [first, second]) {
    for (let use = 1; use <= 10; use += 1) assert.equal((await bad(token)).status, 422)
    await isRefused(bad(token))
    await isRefused(good(token))
  }
  // One cardholder's device does not use up what the others have.
  assert.equal((await good(third)).status, 200)
  for (let use = 21; use <= 25; use += 1) assert.equal((await bad(third)).status, 422)
  for (const token of [third, fourth]) {
    await isRefused(bad(token))
    await isRefused(good(token))
  }
  // The other form has no session key to be wrong, and another client has an hour of its own.
  assert.equal((await revealFrom(limited, String(fourth))).status, 200)
  const other = await limited.createCard({ cardProduct: 2001 }, { as: 'otherClient' })
  const elsewhere = { as: 'otherClient' } as const
  const answer = await limited.getCardData(other.publicToken, { key: 'nonsense' }, elsewhere)
  assert.equal(answer.status, 422)
})

test('of many concurrent bad session keys, no more are examined than an hour allows', async () => {
  const limited = await openCardDataService({ env: { BAD_SESSION_KEYS_PER_CARD_HOUR: '10' } })
  const { publicToken } = await limited.createCard()
  const ask = () => limited.getCardData(publicToken, { key: 'nonsense' })
  const answers = await Promise.all(Array.from({ length: 60 }, ask))
  assert.equal(answers.filter(({ status }) => status === 422).length, 10)
  assert.equal(answers.filter(({ status }) => status === 429).length, 50)
})

test('a session key is not opened for a card that is not there, not told any more, or closed', async () => {
  const limited = await openCardDataService({ env: { REVEALS_PER_CARD_HOUR: '1' } })
  const [told, closed] = [await limited.createCard(), await limited.createCard()]
  assert.equal((await revealFrom(limited, told.publicToken)).status, 200)
  const path = `/cards/${closed.publicToken}/status`
  await limited.call('PUT', path, { body: { cardStatusCode: '46' } })
  const { body } = await requestCardData(limited.serviceKeys, told.publicToken, {
    form: 'sessionKey',
  })
  const decrypt = mock.method(webcrypto.subtle, 'decrypt')
  for (const { key } of [{ key: 'nonsense' }, { ...body, key: 'key' in body ? body.key : '' }]) {
    const codes: string[] = []
    for (const token of ['9999999999', told.publicToken, closed.publicToken]) {
      codes.push((await limited.getCardData(token, { key })).json.code)
    }
    assert.deepEqual(codes, ['card_not_found', 'rate_limited', 'card_closed'])
  }
  assert.equal(decrypt.mock.callCount(), 0)
  decrypt.mock.restore()
})
