import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { listScopes } from '../../../src/domain/client.ts'
import { setClientActive } from '../../support/builders.ts'
import {
  type CallOptions,
  type CreatedCard,
  openTestService,
  sql,
  type TestService,
} from '../../support/service.ts'
import { createUsualCard, operations } from './operations.ts'

let service: TestService
let card: CreatedCard
let otherCard: CreatedCard
let limited: TestService
let readOnly: string

before(async () => {
  service = await openTestService({ env: { UNBLOCKS_PER_CARD_DAY: '1000' } })
  card = await createUsualCard(service)
  otherCard = await service.createCard({ cardProduct: 2001 }, { as: 'otherClient' })
  limited = await openTestService({ env: { RATE_PER_SECOND: '1', RATE_BURST: '1' } })
  readOnly = await service.token('cards.read')
})

const scopes = listScopes('public')

for (const { body, method, name, path, scope, status } of operations) {
  test(`${name} is allowed with ${scope}, and with no other scope`, async () => {
    for (const held of scopes) {
      const token = await service.token(held)
      const answer = await service.call(method, path(card.publicToken), { body, token })
      if (held === scope) {
        assert.equal(answer.status, status, `${name} with ${held}: ${answer.text}`)
        continue
      }
      assert.equal(answer.status, 403, `${name} with ${held}`)
      assert.equal(answer.json.code, 'insufficient_scope')
      assert.equal(answer.json.detail, `The scope ${scope} is needed.`)
      const challenge = String(answer.headers['www-authenticate'])
      assert.equal(challenge, `Bearer error="insufficient_scope", scope="${scope}"`)
    }
  })

  test(`${name} with every scope but ${scope} is refused`, async () => {
    const token = await service.token(scopes.filter((each) => each !== scope).join(' '))
    const answer = await service.call(method, path(card.publicToken), { body, token })
    assert.deepEqual([answer.status, answer.json.code], [403, 'insufficient_scope'])
  })

  test(`${name} needs a token that was issued for this listener, to a client that is active`, async () => {
    const foreign = {
      'no token': null,
      'a token of the network’s listener': await service.token(undefined, 'network'),
      'a token of the administrator’s listener': await service.token(undefined, 'admin'),
      'no token at all': 'abc',
      'a changed token': `${(await service.token()).slice(0, -4)}AAAA`,
    }
    for (const [what, token] of Object.entries(foreign)) {
      const answer = await service.call(method, path(card.publicToken), { body, token })
      assert.deepEqual([answer.status, answer.json.code], [401, 'unauthenticated'], what)
      assert.match(String(answer.headers['www-authenticate']), /^Bearer realm="pinfold"/, what)
    }
  })
}

/** The answer but for what names this one request and this one card. */
const withoutIds = (
  { headers, status, text }: Awaited<ReturnType<TestService['call']>>,
  ids: readonly string[],
): string => {
  const { date: _, ratelimit: __, ...rest } = headers
  return ids.reduce(
    (known, id) => known.replaceAll(id, 'id'),
    JSON.stringify({ status, headers: rest, text }),
  )
}

for (const { body, method, name, path } of operations.filter(({ onCard }) => onCard)) {
  test(`${name} answers another client’s card like one that does not exist`, async () => {
    const answers = await Promise.all(
      [otherCard.publicToken, '9999999999'].map(async (publicToken) => {
        const answer = await service.call(method, path(publicToken), { body })
        assert.deepEqual([answer.status, answer.json.code], [404, 'card_not_found'])
        return withoutIds(answer, [publicToken, answer.json.requestId])
      }),
    )
    assert.equal(answers[0], answers[1])
  })

  test(`${name} answers a publicToken that can be none with 404`, async () => {
    const malformed = [
      '0123456789',
      '123456789',
      '12345678901',
      'abcdefghij',
      '%00',
      '123456789%00',
      '%F0%9F%92%B3',
      '１２３４５６７８９０',
      '1e9',
      '..%2F..',
      '1'.repeat(129),
      '7'.repeat(1500),
      "1234567890'--",
    ]
    for (const publicToken of malformed) {
      const answer = await service.call(method, path(encodeURI(decodeURI(publicToken))), { body })
      assert.deepEqual([answer.status, answer.json?.code], [404, 'card_not_found'], publicToken)
    }
  })
}

test('a client neither sees nor can use the products and cards of another', async () => {
  const products = (await service.call('GET', '/products', { as: 'otherClient' })).json
  assert.deepEqual(
    products.map(({ productId }: { productId: number }) => productId),
    [2001],
  )
  const cards = (await service.call('GET', '/cards', { as: 'otherClient' })).json
  assert.deepEqual(
    cards.map(({ publicToken }: CreatedCard) => publicToken),
    [otherCard.publicToken],
  )
  const body = { ...operations[1]?.body, cardProduct: 2001 }
  const refused = await service.call('POST', '/cards', { body })
  assert.deepEqual([refused.status, refused.json.code], [422, 'product_not_available'])
})

test('nothing that another client tried has touched the card', async () => {
  const [row] = await sql(
    service.database,
    'select status_code, last_sequence from card where public_token = $1',
    [otherCard.publicToken],
  )
  assert.deepEqual(row, { status_code: '00', last_sequence: 1 })
})

test('a path, header or body that names another client changes nothing of who calls', async () => {
  const headers = {
    'x-client-id': 'demo-other-client',
    'client-id': 'demo-other-client',
    'x-forwarded-user': 'demo-other-client',
  }
  const path = `/cards/${otherCard.publicToken}`
  assert.equal((await service.call('GET', path, { headers })).status, 404)
  assert.equal((await service.call('GET', `${path}?clientId=demo-other-client`)).status, 422)
})

test('a client that is disabled gets no token any more', async () => {
  await setClientActive(service.database, 'demo-other-client', false)
  await assert.rejects(service.token('pin.read', 'otherClient'), /invalid_client/)
  await setClientActive(service.database, 'demo-other-client', true)
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
