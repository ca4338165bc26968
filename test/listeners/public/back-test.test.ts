import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { backTestCard } from '../../../src/operations/authorizations/back-test.ts'
import { holdStatement } from '../../support/held-statement.ts'
import { ask, issueCard } from '../../support/network.ts'
import { openTestService, type TestService } from '../../support/service.ts'

let service: TestService
const logLines: string[] = []
before(async () => {
  service = await openTestService({ onLogLine: (line) => logLines.push(line) })
})

const pathOf = (publicToken: string) => `/cards/${publicToken}/controls/back-test`
const hour = () => ({
  from: new Date(Date.now() - 3_600_000).toISOString(),
  to: new Date(Date.now() + 3_600_000).toISOString(),
})
const backTest = (publicToken: string, draft: object, options = {}) =>
  service.call('POST', pathOf(publicToken), { body: { ...hour(), ...draft }, ...options })
const dayLimit = { limits: [{ period: 'lifetime', maximumAmount: 1_000 }] }
const merchant = { id: 'BAKERY', country: 'ESP', categoryCode: '5462' }

/** A card with three purchases of 7.00 EUR. */
const usedCard = async () => {
  const card = await issueCard(service)
  const ids: string[] = []
  for (let times = 0; times < 3; times += 1) {
    const purchase = { publicToken: card.publicToken, amount: 700, currency: 'EUR', merchant }
    const { json } = await ask(service, purchase)
    ids.push(json.authorizationId)
  }
  return { publicToken: card.publicToken, ids }
}

test('a client learns what a draft would change at its card, and nothing is changed', async () => {
  const { ids, publicToken } = await usedCard()
  const before = await service.call('GET', `/cards/${publicToken}/controls`)
  const { json, status } = await backTest(publicToken, dayLimit)
  assert.equal(status, 200)
  const { changes, controls, currency, draft, newlyApproved, newlyDeclined, recorded } = json
  assert.equal(currency, 'EUR')
  assert.deepEqual(recorded, {
    approved: { count: 3, amount: 2_100 },
    declined: { count: 0, amount: 0 },
  })
  assert.deepEqual(draft, {
    approved: { count: 1, amount: 700 },
    declined: { count: 2, amount: 1_400 },
  })
  assert.deepEqual(newlyDeclined, { count: 2, amount: 1_400 })
  assert.deepEqual(newlyApproved, { count: 0, amount: 0 })
  const declined = { count: 2, amount: 1_400 }
  assert.deepEqual(controls, [
    { owner: 'card', control: 'limits.lifetime', declined, newlyDeclined: declined },
  ])
  const { requestedAt, ...change } = changes[0]
  assert(Math.abs(Date.parse(requestedAt) - Date.now()) < 60_000)
  assert.deepEqual(change, {
    publicToken,
    authorizationId: changes[0].authorizationId,
    entryMode: 'chip',
    transactionType: 'purchase',
    amount: 700,
    currency: 'EUR',
    responseCode: '00',
    approved: false,
    objection: { declineReason: 'amount_over_limit', owner: 'card', control: 'limits.lifetime' },
  })
  assert.equal(changes.length, 2)
  if (ids[1]) assert.equal(changes[0].authorizationId, ids[1])
  assert.deepEqual((await service.call('GET', `/cards/${publicToken}/controls`)).json, before.json)
})

test("the card of another client is not found, and a product's draft is not public", async () => {
  const { publicToken } = await usedCard()
  const foreign = await backTest(publicToken, dayLimit, { as: 'otherClient' })
  assert.deepEqual([foreign.status, foreign.json.code], [404, 'card_not_found'])
  const unknown = await backTest('1000000000', dayLimit)
  const { requestId: _, ...problem } = unknown.json
  const { requestId: __, ...same } = foreign.json
  assert.deepEqual(problem, same)
  const other = await service.call('POST', '//products/1001/controls/back-test', {
    body: { ...hour(), ...dayLimit },
  })
  assert.equal(other.status, 404)
  const scope = await backTest(publicToken, dayLimit, { token: await service.token('pin.read') })
  assert.deepEqual([scope.status, scope.json.code], [403, 'insufficient_scope'])
})

const faulty: Readonly<Record<string, readonly [body: object, pointer: string]>> = {
  'a period that ends before it begins': [{ from: '2026-03-02T00:00:00Z' }, '/to'],
  'a day in place of an instant': [{ from: '2026-03-01' }, '/from'],
  'a version': [{ version: 0 }, '/version'],
  'the time zone of a product': [{ timeZone: 'UTC' }, '/timeZone'],
  'limits that contradict each other': [
    { limits: [{ period: 'day' }, { period: 'day' }] },
    '/limits/1',
  ],
}
for (const [title, [members, pointer]] of Object.entries(faulty)) {
  test(`a draft with ${title} is refused`, async () => {
    const period = { from: '2026-03-01T00:00:00Z', to: '2026-03-01T12:00:00Z' }
    const { publicToken } = await service.createCard()
    const { json } = await backTest(publicToken, { ...period, ...members })
    assert.equal(json.code, 'validation_failed')
    assert.deepEqual(
      json.errors.map((each: { pointer: string }) => each.pointer),
      [pointer],
    )
  })
}

test('a back-test during another one is refused, and the log has no error', async () => {
  const { publicToken } = await usedCard()
  const slow = holdStatement(service.database, 'list_decided_of_card')
  const requester = { clientId: service.sandbox?.clientId ?? '', requestId: 'r' }
  const { from, to } = hour()
  const period = { from: new Date(from), to: new Date(to) }
  const { signal: gone } = new AbortController()
  const draft = { ...period, controls: {} }
  const first = backTestCard({ database: slow.database }, requester, publicToken, draft, { gone })
  await slow.reached
  const before = logLines.length
  const second = await backTest(publicToken, {})
  slow.release()
  assert.deepEqual([second.status, second.json.code], [503, 'unavailable'])
  assert(Number(second.headers['retry-after']) >= 1)
  assert.equal((await first).recorded.approved.count, 3)
  const levels = logLines.slice(before).map((line) => JSON.parse(line).level)
  assert(levels.length > 0)
  assert(levels.every((level) => level < 50))
})

test("an administrator learns the same of a product's cards", async () => {
  const { publicToken } = await usedCard()
  const admin = { as: 'admin', listener: 'private' } as const
  const path = '//products/1001/controls/back-test'
  const draft = { ...hour(), timeZone: 'Europe/Madrid', merchants: { blocked: ['BAKERY'] } }
  const { json, status } = await service.call('POST', path, { ...admin, body: draft })
  assert.equal(status, 200)
  const ofCard = json.changes.filter(
    (change: { publicToken: string }) => change.publicToken === publicToken,
  )
  assert.equal(ofCard.length, 3)
  assert.deepEqual(ofCard[0].objection, {
    declineReason: 'merchant_not_allowed',
    owner: 'product',
    control: 'merchants',
  })
  const none = await service.call('POST', '//products/999999/controls/back-test', {
    ...admin,
    body: draft,
  })
  assert.equal(none.json.code, 'not_found')
})
