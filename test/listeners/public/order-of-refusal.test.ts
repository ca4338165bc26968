import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { type CallOptions, openTestService, sql, type TestService } from '../../support/service.ts'

let service: TestService
let limited: TestService
let readOnly: string

before(async () => {
  service = await openTestService()
  limited = await openTestService({ env: { RATE_PER_SECOND: '1', RATE_BURST: '1' } })
  readOnly = await service.token('cards.read')
})

const code = async (
  method: string,
  path: string,
  options: CallOptions,
  on = service,
): Promise<string> => (await on.call(method, path, options)).json?.code

const setPin = (publicToken: string, options: CallOptions, on = service): Promise<string> =>
  code('POST', `/card-pin/${publicToken}/pin`, options, on)

const json = { 'content-type': 'application/json' }
const unreadable = { payload: '{', headers: json }
const untyped = { payload: '{' }
const misshapen = { body: { pin: 1 } }
const shaped = { body: { pin: '1234' } }
const unknownCard = '9999999999'

test('without a token nothing else is looked at', async () => {
  for (const request of [unreadable, untyped, misshapen, shaped]) {
    assert.equal(await setPin(unknownCard, { ...request, token: null }), 'unauthenticated')
  }
})

test('without the scope nothing of the request is looked at', async () => {
  for (const request of [unreadable, untyped, misshapen, shaped]) {
    assert.equal(await setPin(unknownCard, { ...request, token: readOnly }), 'insufficient_scope')
  }
})

test('the limit of a client counts before its requests are read, and after its scopes', async () => {
  const token = await limited.token('cards.read')
  let last = ''
  // The bucket fills again with time: until it is empty, the request itself is refused.
  for (let time = 0; time < 250 && last !== 'rate_limited'; time += 1) {
    last = await setPin(unknownCard, unreadable, limited)
    assert.match(last, /malformed_request|rate_limited/)
  }
  assert.equal(last, 'rate_limited')
  assert.equal(await setPin(unknownCard, { ...shaped, token }, limited), 'insufficient_scope')
})

test('what cannot be read is refused before its shape, and the shape before the card', async () => {
  assert.equal(await setPin(unknownCard, untyped), 'unsupported_media_type')
  assert.equal(await setPin(unknownCard, unreadable), 'malformed_request')
  assert.equal(
    await setPin(unknownCard, { ...shaped, headers: { 'api-version': '2020-01-01' } }),
    'malformed_request',
  )
  assert.equal(
    await setPin(unknownCard, { ...misshapen, headers: { 'idempotency-key': '' } }),
    'malformed_request',
  )
  assert.equal(await setPin(unknownCard, misshapen), 'validation_failed')
  assert.equal(
    await setPin(unknownCard, { body: { pin: '7193', cardPin: '7193' } }),
    'validation_failed',
  )
  assert.equal(await setPin(unknownCard, shaped), 'card_not_found')
})

test('the limit of a card comes before its state', async () => {
  const { publicToken } = await service.createCard()
  const path = `/card-pin/${publicToken}/pin`
  const closing = { body: { cardStatusCode: '46' } }
  for (let use = 0; use < 10; use += 1) await service.call('GET', path)
  await service.call('PUT', `/cards/${publicToken}/status`, closing)
  assert.equal(await code('GET', path, {}), 'rate_limited')
  await sql(service.database, 'delete from card_limit where public_token = $1', [publicToken])
  assert.equal(await code('GET', path, {}), 'card_closed')
})

test('the state of a card comes before the rules of its product', async () => {
  const { publicToken } = await service.createCard()
  assert.equal(await setPin(publicToken, shaped), 'weak_pin')
  assert.equal(await setPin(publicToken, { body: { pin: '123456' } }), 'validation_failed')
  await service.call('PUT', `/cards/${publicToken}/status`, { body: { cardStatusCode: '46' } })
  assert.equal(await setPin(publicToken, shaped), 'card_closed')
  assert.equal(await setPin(publicToken, { body: { pin: '123456' } }), 'card_closed')
})

test('a card that is closed is told before that its PIN cannot be shown', async () => {
  const { publicToken } = await service.createCard({ cardProduct: 1002 })
  const path = `/card-pin/${publicToken}/pin`
  assert.equal(await code('GET', path, {}), 'pin_not_revealable')
  await service.call('PUT', `/cards/${publicToken}/status`, { body: { cardStatusCode: '46' } })
  assert.equal(await code('GET', path, {}), 'card_closed')
})

test('a product that is not there comes after the shape and before what it does not offer', async () => {
  const body = (members: object) => ({
    body: {
      cardType: 'Physical',
      cardProduct: 1003,
      cardHolder: { firstName: 'Ana', lastName: 'Lim', dateOfBirth: '1990-04-17' },
      address: { addressLine1: 'Calle Mayor 1', postCode: '28013', country: 'ESP' },
      ...members,
    },
  })
  const create = (members: object) => code('POST', '/cards', body(members))
  assert.equal(await create({ cardProduct: 4711, extra: 1 }), 'validation_failed')
  assert.equal(await create({ cardProduct: 4711 }), 'product_not_available')
  assert.equal(await create({}), 'validation_failed')
})
