import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { type CreatedCard, openTestService, type TestService } from '../../support/service.ts'

let service: TestService
let virtual: CreatedCard
let physical: CreatedCard
let early: CreatedCard

before(async () => {
  service = await openTestService({ env: { RATE_LIMIT: 'off' } })
  virtual = await service.createCard({ metadata: { costCentre: '4711' } })
  physical = await service.createCard({ cardType: 'Physical', metadata: { costCentre: '4712' } })
  const year = new Date().getUTCFullYear() + 1
  early = await service.createCard({
    expiryDate: `${year}-06`,
    metadata: { costCentre: '4711', 'a-b': 'x' },
  })
  const closed = await service.createCard({ expiryDate: `${year}-06` })
  await service.call('PUT', `/cards/${closed.publicToken}/status`, {
    body: { cardStatusCode: '83' },
  })
  await service.createCard(
    { cardProduct: 2001, metadata: { costCentre: '4711' } },
    {
      as: 'otherClient',
    },
  )
})

const list = (query: Record<string, string>) =>
  service.call('GET', `/cards?${new URLSearchParams(query)}`)

const tokensOf = async (query: Record<string, string>): Promise<string[]> => {
  const { json, status, text } = await list(query)
  assert.equal(status, 200, text)
  return json.map(({ publicToken }: CreatedCard) => publicToken)
}

test('cards are listed by a key of metadata and its value, newest first, page by page', async () => {
  assert.deepEqual(await tokensOf({ 'metadata[costCentre]': '4711' }), [
    early.publicToken,
    virtual.publicToken,
  ])
  assert.deepEqual(await tokensOf({ 'metadata[a-b]': 'x' }), [early.publicToken])
  assert.deepEqual(await tokensOf({ 'metadata[costCentre]': '471' }), [])
  const first = await list({ 'metadata[costCentre]': '4711', limit: '1' })
  assert.equal(first.json.length, 1)
  const [, next = ''] = /<([^>]*)>/.exec(String(first.headers.link)) ?? []
  const second = await service.call('GET', `/${next}`)
  assert.equal(second.json[0].publicToken, virtual.publicToken)
})

test('cards are listed by what expires before a day, without closed ones', async () => {
  const year = new Date().getUTCFullYear() + 1
  assert.deepEqual(await tokensOf({ expiringBefore: `${year}-07-01` }), [early.publicToken])
  assert.deepEqual(await tokensOf({ expiringBefore: `${year}-06-30` }), [])
  assert.equal((await tokensOf({ expiringBefore: '2999-01-01' })).length, 3)
})

test('cards are listed by product, by type, and by both', async () => {
  assert.deepEqual(await tokensOf({ cardType: 'physical' }), [physical.publicToken])
  assert.deepEqual(await tokensOf({ cardProduct: '1001', cardType: 'Physical' }), [
    physical.publicToken,
  ])
  assert.equal((await tokensOf({ cardProduct: '1001' })).length, 4)
  assert.deepEqual(await tokensOf({ cardProduct: '2001' }), [])
})

test('filters that have no index together are refused with their names', async () => {
  const refused: readonly (readonly [Record<string, string>, string])[] = [
    [{ 'metadata[a]': 'x', 'metadata[b]': 'y' }, 'metadata'],
    [{ 'metadata[a]': 'x', cardType: 'Virtual' }, 'metadata'],
    [{ cardProduct: '1001', cardStatusCode: '00' }, 'cardProduct'],
    [{ expiringBefore: '2999-01-01', cardProduct: '1001' }, 'expiringBefore'],
    [{ cardType: 'Virtual', customerReference: 'C-1' }, 'cardType'],
  ]
  for (const [query, parameter] of refused) {
    const { json, status } = await list(query)
    assert.deepEqual([status, json.errors[0].parameter], [422, parameter], JSON.stringify(query))
  }
  assert.equal((await list({ expiringBefore: '2030-02-30' })).status, 422)
})

test('a filter by metadata without a key is refused with the way to write it', async () => {
  const refused: readonly (readonly [string, string])[] = [
    ['metadata', 'metadata'],
    ['metadata[]', 'metadata[]'],
    // Other names are not repeated.
    ['metadata[a b]', ''],
    ['metadata[a', ''],
  ]
  for (const [name, parameter] of refused) {
    for (const value of ['', '4711']) {
      const { json, status } = await list({ [name]: value })
      const [fault] = json.errors
      assert.deepEqual([status, fault.parameter], [422, parameter], name)
      assert.match(fault.detail, /^must be written metadata\[key\]=value, such as metadata\[/)
    }
  }
  const { json } = await list({ metadataKey: '4711' })
  assert.equal(json.errors[0].detail, 'is unknown; remove it or correct its name')
})
