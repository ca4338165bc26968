/** What the page of a card says of its plastics and of the cards that replaced each other. */
import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { type Browser, openBrowser } from '../support/browser.ts'
import { freePorts } from '../support/free-ports.ts'
import { openTestService, type TestService } from '../support/service.ts'

let service: TestService
let url: string
let support: Browser

before(async () => {
  const [, port] = await freePorts()
  service = await openTestService({
    env: {
      PRIVATE_PORT: String(port),
      RATE_LIMIT: 'off',
      SANDBOX_CLOCK: '2031-03-15T10:00:00Z',
    },
  })
  await service.privateServer.listen({ port, host: '127.0.0.1' })
  url = `http://127.0.0.1:${port}`
  support = openBrowser()
  const link = service.sandbox?.people.find(({ role }) => role === 'support')?.signInUrl
  await support.visit(link ?? '')
})

const physicalCard = async (members: object = {}): Promise<string> =>
  (await service.createCard({ cardType: 'Physical', activateNow: true, ...members })).publicToken

const act = async (method: 'POST' | 'PUT' | 'DELETE', path: string, body: object = {}) => {
  const answer = await service.call(method, path, method === 'DELETE' ? {} : { body })
  assert.ok(answer.status < 300, answer.text)
  return answer.json
}

const replace = async (publicToken: string, body: object = {}): Promise<string> =>
  (await act('POST', `/cards/${publicToken}/replace`, body)).publicToken

/** The text of a page without its tags, and its markup. */
const read = async (publicToken: string) => {
  const { status, text } = await support.visit(`${url}/console/cards/${publicToken}`)
  assert.equal(status, 200, text)
  const words = text.replaceAll(/<[^>]*>/g, ' ').replaceAll(/\s+/g, ' ')
  return { text, words }
}

const readHistory = async (publicToken: string, query = '') =>
  service.call('GET', `//cards/${publicToken}/history${query}`, {
    as: 'admin',
    listener: 'private',
  })

test('the page of a card shows the delivery of each plastic as steps, and which step is present', async () => {
  const card = await physicalCard()
  await act('POST', `/sandbox/plastics/${card}/0/ship`)
  await act('POST', `/cards/${card}/renew`, { renewStep: 'RenewWithSameExpiry' })
  const { text, words } = await read(card)
  const steps = 'Ordered Produced Shipped Delivered'
  for (const [plastic, present] of [
    ['01 Waiting Reprint', 'Ordered'],
    ['00 Current Issue', 'Shipped'],
  ]) {
    const told = `${plastic} until 2035-03-31 ${steps} ${present} [\\w ,:]+ UTC`
    assert.match(words, new RegExp(told))
  }
  const present = [...text.matchAll(/aria-current="step">\s*(\w+)/g)].map(([, step]) => step)
  assert.deepEqual(present, ['Ordered', 'Shipped'])
  await act('DELETE', `/cards/${card}/renewal`)
  await act('POST', `/sandbox/plastics/${card}/0/return`)
  const { words: ended } = await read(card)
  assert.match(ended, /01 Cancelled/)
  assert.match(ended, /Ordered Returned Returned [\w ,:]+ UTC/)
})

test('the page of a card tells that a virtual card has no delivery', async () => {
  const { publicToken } = await service.createCard({ cardType: 'Virtual' })
  assert.match(
    (await read(publicToken)).words,
    /00 Current Issue until \S+ Virtual, without a delivery/,
  )
})

test('the cards of a line lead to each other, and a retired card offers no act', async () => {
  const first = await physicalCard()
  const alone = await read(first)
  assert.doesNotMatch(alone.text, /id="line"/)
  const second = await replace(first, { reason: 'Upgrade' })
  const waiting = await read(second)
  assert.match(waiting.words, /\(this card\)/)
  assert.match(waiting.words, /Upgrade · created [\w ,:]+ UTC · not activated yet/)
  assert.ok(waiting.text.includes(`<dt>Replaces</dt><dd><a href="/console/cards/${first}">`))
  await act('PUT', `/cards/${second}/status`, { cardStatusCode: '00' })
  const { text, words } = await read(first)
  assert.ok(text.includes(`<a href="/console/cards/${second}">Card ${second}</a>`))
  assert.match(words, /Restricted Retired/)
  assert.match(words, /The card is retired and cannot be changed\./)
  assert.doesNotMatch(text, /\/unfreeze"|\/pin\/unblock"/)
  assert.match(words, /Retired by its successor .* Replaced by card/)
  assert.match((await read(second)).words, /Card created Replaces card/)
})

test('notices of a renewal are shown with the plastic that expires', async () => {
  const { publicToken } = await service.createCard({ cardType: 'Virtual' })
  const now = { now: '2035-03-02T00:00:00Z' }
  const moved = await service.call('POST', '//sandbox/clock', {
    as: 'admin',
    listener: 'private',
    body: now,
  })
  assert.equal(moved.status, 200)
  const { words } = await read(publicToken)
  assert.match(words, /00 Current Issue until 2035-03-31 .* Renewal notices at 60 and 30 days/)
  assert.match(words, /Renewal due 30 days left/)
})

test('operators page through the line of a card of any client', async () => {
  const members = { cardProduct: 2001, cardType: 'Virtual' }
  const first = await service.createCard(members, { as: 'otherClient' })
  const replaced = await service.call('POST', `/cards/${first.publicToken}/replace`, {
    as: 'otherClient',
    body: {},
  })
  assert.equal(replaced.status, 200, replaced.text)
  const second = replaced.json.publicToken
  const whole = await readHistory(first.publicToken)
  const listed = whole.json.map(
    ({ publicToken, retired }: { publicToken: string; retired: boolean }) => [publicToken, retired],
  )
  assert.deepEqual(listed, [
    [second, false],
    [first.publicToken, true],
  ])
  const page = await readHistory(first.publicToken, '?limit=1')
  assert.deepEqual(page.json, whole.json.slice(0, 1))
  const [, next = ''] = /history(\?[^>]+)>; rel="next"/.exec(String(page.headers.link)) ?? []
  assert.deepEqual((await readHistory(first.publicToken, next)).json, whole.json.slice(1))
  assert.equal((await readHistory('9999999999')).status, 404)
})
