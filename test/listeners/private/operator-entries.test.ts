/** What operators did, as the audit log has it: by person, act, card and time. */
import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { enterAll } from '../../support/audit.ts'
import { type Answer, openTestService, type TestService } from '../../support/service.ts'

let service: TestService
let card: string

const ask = (query = ''): Promise<Answer> =>
  service.call('GET', `//audit/entries${query}`, { as: 'admin', listener: 'private' })

const act = async (method: string, path: string, body?: object) => {
  const answer = await service.call(method, `//${path}`, {
    as: 'admin',
    listener: 'private',
    ...(body && { body }),
  })
  assert.ok(answer.status < 300, answer.text)
}

const listActs = ({ json, text }: Answer): string[] => {
  assert.ok(Array.isArray(json), text)
  return json.map((each: { act: string }) => each.act)
}

before(async () => {
  service = await openTestService({ env: { RATE_LIMIT: 'off' } })
  const { publicToken } = await service.createCard()
  card = publicToken
  await act('PATCH', 'products/1001', { productName: 'One more' })
  await enterAll(service.database)
  await act('POST', `cards/${card}/freeze`, { reason: 'The holder rang' })
  await enterAll(service.database)
  await act('POST', `cards/${card}/cardholder`)
  await enterAll(service.database)
})

test('acts of operators on cards and on everything else are in one list, and no act of a client', async () => {
  const acts = listActs(await ask())
  assert.deepEqual(acts.slice(0, 3), [
    'cardholder.revealed',
    'card.status_changed',
    'product.changed',
  ])
  assert.ok(!acts.includes('card.created'))
})

test('an entry names who acted and on what, and does not hold the reason of an act on a card', async () => {
  const [frozen] = (await ask('?act=card.status_changed')).json
  assert.deepEqual(
    [frozen.clientId, frozen.clientName, frozen.publicToken, frozen.outcome, frozen.isErased],
    ['demo-admin', 'Demo operator', card, 'done', false],
  )
  assert.doesNotMatch(JSON.stringify(frozen), /rang/)
  const [changed] = (await ask('?act=product.changed')).json
  assert.deepEqual([changed.subject, changed.publicToken], ['1001', null])
})

test('entries are found by person, act, card and time', async () => {
  assert.deepEqual(listActs(await ask(`?publicToken=${card}`)), [
    'cardholder.revealed',
    'card.status_changed',
  ])
  assert.deepEqual(listActs(await ask('?clientId=demo-admin&act=product.changed')), [
    'product.changed',
  ])
  assert.deepEqual(listActs(await ask('?clientId=somebody-else')), [])
  const tomorrow = new Date(Date.now() + 86_400_000).toISOString()
  assert.deepEqual(listActs(await ask(`?from=${tomorrow}`)), [])
  assert.equal(listActs(await ask(`?to=${tomorrow}&clientId=demo-admin`)).length, 3)
  assert.deepEqual(listActs(await ask(`?to=2026-01-01T00:00:00Z&publicToken=${card}`)), [])
  assert.equal((await ask(`?publicToken=${card}&act=card.status_changed`)).status, 422)
})

test('pages follow each other without a gap, with every filter', async () => {
  for (const filter of ['', '&clientId=demo-admin', `&publicToken=${card}`]) {
    const listed: string[] = []
    let query: string | undefined = `?limit=1${filter}`
    while (query !== undefined) {
      const answer: Answer = await ask(query)
      listed.push(...listActs(answer))
      query = /^<\/audit\/entries(\?[^>]+)>/.exec(String(answer.headers.link ?? ''))?.[1]
    }
    assert.deepEqual(listed, listActs(await ask(filter.replace('&', '?'))))
  }
  const cursor = Buffer.from('["2026-01-01",1,1]').toString('base64url')
  assert.equal((await ask(`?cursor=${cursor}`)).status, 422)
})
