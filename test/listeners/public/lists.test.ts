import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { makeProductId } from '../../../src/domain/identifiers.ts'
import { demoProducts } from '../../../src/sandbox/demo-data.ts'
import { grantProduct, insertProduct } from '../../../src/storage/products/products.ts'
import { type CreatedCard, openTestService, sql, type TestService } from '../../support/service.ts'

let service: TestService
/** Tokens of the cards, newest first. */
const tokens: string[] = []

before(async () => {
  service = await openTestService()
  for (let index = 0; index < 9; index += 1) {
    const card = await service.createCard({ customerReference: `C-${index % 3}` })
    tokens.unshift(card.publicToken)
  }
})

const tokensOf = (cards: readonly CreatedCard[]): string[] =>
  cards.map(({ publicToken }) => publicToken)

/** Follows the links from a first page to the last. */
async function pages(path: string): Promise<CreatedCard[][]> {
  const found: CreatedCard[][] = []
  for (let next: string | undefined = path; next !== undefined; ) {
    const { headers, json, status } = await service.call('GET', next)
    assert.equal(status, 200)
    found.push(json)
    const link = headers.link === undefined ? undefined : String(headers.link)
    const target: string | undefined = link && /^<(\/[^>]+)>; rel="next"$/.exec(link)?.[1]
    if (link !== undefined) assert.ok(target, link)
    next = target && `/${target}`
    assert.ok(found.length <= 20)
  }
  return found
}

test('cards are listed newest first, each once, page after page', async () => {
  for (const limit of [1, 2, 4, 9, 100]) {
    const found = await pages(`/cards?limit=${limit}`)
    assert.equal(found.length, Math.ceil(tokens.length / limit))
    assert.deepEqual(tokensOf(found.flat()), tokens)
  }
})

test('cards made in one and the same instant are listed each once', async () => {
  await sql(service.database, `update card set created_at = '2026-11-20T08:00:00.123456Z'`)
  const found = tokensOf((await pages('/cards?limit=2')).flat())
  assert.deepEqual([...found].sort(), [...tokens].sort())
  assert.deepEqual(found, [...found].sort().reverse())
  for (const [index, token] of [...tokens].reverse().entries()) {
    const at = `2026-11-20T08:00:00.00000${index + 1}Z`
    await sql(
      service.database,
      'update card set created_at = $2::timestamptz where public_token = $1',
      [token, at],
    )
  }
  assert.deepEqual(tokensOf((await pages('/cards?limit=2')).flat()), tokens)
})

test('a card that is made while a list is read moves nothing on later pages', async () => {
  const first = await service.call('GET', '/cards?limit=4')
  const made = await service.createCard()
  const next = /<([^>]+)>/.exec(String(first.headers.link))?.[1]
  const rest = (await pages(`/${next}`)).flat()
  assert.deepEqual([...tokensOf(first.json), ...tokensOf(rest)], tokens)
  tokens.unshift(made.publicToken)
})

test('cards are filtered by reference, by status and by both, also across pages', async () => {
  const [newest = ''] = tokens.filter((_, index) => index > 0)
  const closing = { body: { cardStatusCode: '46' } }
  await service.call('PUT', `/cards/${newest}/status`, closing)
  const listed = (await service.call('GET', '/cards')).json as CreatedCard[]
  const expected = (keep: (card: CreatedCard) => boolean) => tokensOf(listed.filter(keep))
  const filters: readonly (readonly [string, (card: CreatedCard) => boolean])[] = [
    ['customerReference=C-1', (card) => card.customerReference === 'C-1'],
    ['cardStatusCode=46', (card) => card.cardStatusCode === '46'],
    ['cardStatusCode=00', (card) => card.cardStatusCode === '00'],
    [
      'customerReference=C-2&cardStatusCode=00',
      (card) => card.customerReference === 'C-2' && card.cardStatusCode === '00',
    ],
    ['customerReference=nobody', () => false],
    ['cardStatusCode=54', () => false],
  ]
  for (const [query, keep] of filters) {
    for (const limit of [1, 100]) {
      const found = tokensOf((await pages(`/cards?${query}&limit=${limit}`)).flat())
      assert.deepEqual(found, expected(keep), query)
    }
  }
})

test('while others create cards, each list shows those that were there before once, whatever its filter', async () => {
  const filters = [
    '',
    'customerReference=C-1',
    'cardStatusCode=00',
    'customerReference=C-1&cardStatusCode=00',
  ]
  const pathOf = (filter: string) => `/cards?${[filter, 'limit=2'].filter(Boolean).join('&')}`
  const readAll = async (filter: string) => tokensOf((await pages(pathOf(filter))).flat())
  const earlier = await Promise.all(filters.map(readAll))
  let isRead = false
  const created: string[] = []
  const creating = (async () => {
    while (!isRead)
      created.push((await service.createCard({ customerReference: 'C-1' })).publicToken)
  })()
  const during = await Promise.all(filters.map(readAll))
  isRead = true
  await creating
  assert.ok(created.length > 0)
  for (const [at, found] of during.entries()) {
    assert.equal(new Set(found).size, found.length, filters[at])
    // A list that has begun shows nothing newer than its first page.
    assert.deepEqual(
      found.filter((token) => !created.includes(token)),
      earlier[at],
      filters[at],
    )
  }
  for (const token of created) {
    await sql(service.database, `update card set client_id = 'another' where public_token = $1`, [
      token,
    ])
  }
})

test('a list holds cards as a read of each shows them', async () => {
  const [card] = (await service.call('GET', '/cards?limit=1')).json
  assert.deepEqual(card, (await service.call('GET', `/cards/${card.publicToken}`)).json)
})

test('products are listed by productId, page after page, and filtered', async () => {
  const [common] = demoProducts
  assert.ok(common)
  for (const productId of [7, 5000].map(makeProductId)) {
    await insertProduct(service.database, { ...common, productId, currencyCode: 'CHF' })
    await grantProduct(service.database, 'demo-client', productId)
  }
  const inactive = { ...common, productId: makeProductId(8), active: false }
  await insertProduct(service.database, inactive)
  await grantProduct(service.database, 'demo-client', inactive.productId)
  await insertProduct(service.database, { ...common, productId: makeProductId(9) })
  const ids = async (query: string): Promise<unknown[]> =>
    (await pages(`/products?${query}`)).flat().map(({ productId }) => productId)
  for (const limit of [1, 2, 100]) {
    assert.deepEqual(await ids(`limit=${limit}`), [7, 1001, 1002, 1003, 5000])
  }
  assert.deepEqual(await ids('currencyCode=CHF&limit=1'), [7, 5000])
  assert.deepEqual(await ids('cardType=physical'), [7, 1001, 1002, 5000])
  assert.deepEqual(await ids('cardType=Virtual&currencyCode=USD'), [1003])
  assert.deepEqual(await ids('currencyCode=JPY'), [])
  const refused = { ...(await cardOf(8)) }
  assert.deepEqual([refused.status, refused.code], [422, 'product_not_available'])
})

const cardOf = async (cardProduct: number): Promise<{ status: number; code: string }> => {
  const body = {
    cardType: 'Virtual',
    cardProduct,
    cardHolder: { firstName: 'Ana', lastName: 'Lim', dateOfBirth: '1990-04-17' },
    address: { addressLine1: 'Calle Mayor 1', postCode: '28013', country: 'ESP' },
  }
  const { json, status } = await service.call('POST', '/cards', { body })
  return { status, code: json.code }
}
