import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { enterAll } from '../../support/audit.ts'
import { ask, type IssuedCard, issueCard, otherDigits, pinTry } from '../../support/network.ts'
import {
  type Answer,
  type CallOptions,
  openTestService,
  type TestService,
} from '../../support/service.ts'

let service: TestService
let card: IssuedCard

before(async () => {
  service = await openTestService()
  card = await issueCard(service, { customerReference: 'Ref-1' })
})

const support = (
  method: 'GET' | 'POST',
  path: string,
  options: CallOptions = {},
): Promise<Answer> =>
  service.call(method, `/${path}`, { as: 'admin', listener: 'private', ...options })

const search = (body: object, query = ''): Promise<Answer> =>
  support('POST', `/cards/search${query}`, { body })

const tokensOf = ({ json }: Answer): string[] =>
  json.map(({ publicToken }: { publicToken: string }) => publicToken)

test('a card of any client is found by its token, its PAN, its last four and its reference in any case', async () => {
  const mine = await search({ publicToken: card.publicToken })
  assert.equal(mine.status, 200, mine.text)
  assert.deepEqual(tokensOf(mine), [card.publicToken])
  assert.deepEqual(tokensOf(await search({ pan: card.pan })), [card.publicToken])
  assert.ok(tokensOf(await search({ panLastFour: card.pan.slice(-4) })).includes(card.publicToken))
  assert.deepEqual(tokensOf(await search({ customerReference: 'rEF-1' })), [card.publicToken])
  const other = await service.createCard({ cardProduct: 2001 }, { as: 'otherClient' })
  assert.deepEqual(tokensOf(await search({ publicToken: other.publicToken })), [other.publicToken])
})

test('a card is read with its status and why, its tries and its limits', async () => {
  const answer = await support('GET', `/cards/${card.publicToken}`)
  assert.equal(answer.status, 200, answer.text)
  console.log(answer.text)
})

test('x', async () => {
  await ask(service, pinTry(service, card, otherDigits(card.pin)))
  await service.call('GET', `/card-pin/${card.publicToken}/pin`)
  await enterAll(service.database)
  await service.call('PUT', `/cards/${card.publicToken}/status`, { body: { cardStatusCode: '62' } })
  const answer = await support('GET', `/cards/${card.publicToken}/timeline?limit=3`)
  assert.equal(answer.status, 200, answer.text)
  console.log(answer.text, answer.headers.link)
  console.log((await support('GET', `/cards/${card.publicToken}`)).text)
})

test('y', async () => {
  const reason = 'The holder rang and said so'
  const freeze = await support('POST', `/cards/${card.publicToken}/unfreeze`, { body: { reason } })
  assert.equal(freeze.status, 204, freeze.text)
  await enterAll(service.database)
  const many = await support('POST', '/cards/unblock', {
    body: { publicTokens: [card.publicToken, '9999999999'], kind: 'pin', reason },
    headers: { 'idempotency-key': 'k' },
  })
  console.log(many.status, many.text)
  const again = await support('POST', '/cards/unblock', {
    body: { publicTokens: [card.publicToken, '9999999999'], kind: 'pin', reason },
    headers: { 'idempotency-key': 'k' },
  })
  console.log(again.status, again.text, again.headers['idempotency-replayed'])
  const holder = await support('POST', `/cards/${card.publicToken}/cardholder`)
  console.log(holder.status, holder.text, holder.headers['audit-entry'])
  console.log((await support('GET', `/cards/${card.publicToken}/timeline?limit=4`)).text)
  console.log((await support('GET', `/cards/${card.publicToken}`)).text)
  await enterAll(service.database)
  const { sql } = await import('../../support/service.ts')
  console.log(
    await sql(service.database, 'select text from audit_entry order by entry_index desc limit 4'),
  )
})
