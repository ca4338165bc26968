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
  const other = await service.createCard({}, { as: 'otherClient' })
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
