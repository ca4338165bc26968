import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { scopesOf } from '../../../src/domain/client.ts'
import { type CreatedCard, openTestService, sql, type TestService } from '../../support/service.ts'
import { operations } from './operations.ts'

let service: TestService
let card: CreatedCard
let otherCard: CreatedCard

before(async () => {
  service = await openTestService({ env: { UNBLOCKS_PER_CARD_DAY: '1000' } })
  card = await service.createCard()
  otherCard = await service.createCard({ cardProduct: 2001 }, { as: 'otherClient' })
})

const scopes = scopesOf('public')

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
  const setActive = 'update client set active = $2 where client_id = $1'
  await sql(service.database, setActive, ['demo-other-client', false])
  await assert.rejects(service.token('pin.read', 'otherClient'), /invalid_client/)
  await sql(service.database, setActive, ['demo-other-client', true])
})
