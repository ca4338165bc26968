import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { before, test } from 'node:test'
import type { PublicToken } from '../../../src/domain/identifiers.ts'
import { nextId, pay, send } from '../../operations/payments/network.ts'
import { openTestService, type TestService } from '../../support/service.ts'

let service: TestService
let publicToken: PublicToken

before(async () => {
  service = await openTestService({ env: { RATE_LIMIT: 'off' } })
  publicToken = (await service.createCard()).publicToken
})

const support = (method: 'GET' | 'POST', path: string, body?: object) =>
  service.call(method, `/${path}`, {
    as: 'admin',
    listener: 'private',
    ...(body && { body }),
  })

test('an operator reads a payment of any client with its messages, as the client reads it', async () => {
  const { networkTransactionId, paymentId } = await pay(service, publicToken, 10_000)
  const money = { publicToken, networkTransactionId, currency: 'EUR' }
  await send(service, 'reversals', { ...money, reversalId: nextId(), amount: 400 })
  const read = await support('GET', `/cards/${publicToken}/payments/${paymentId}`)
  assert.equal(read.status, 200, read.text)
  const [{ amount, applied, effect, message }] = read.json.messages
  assert.deepEqual([message, effect, amount, applied], ['reversal', 'release', 400, 400])
  assert.deepEqual(read.json, (await service.call('GET', `/payments/${paymentId}`)).json)
})

test('the timeline names the card network for each payment that its message changed', async () => {
  const card = await service.createCard()
  const { paymentId } = await pay(service, card.publicToken, 10_000)
  const money = { publicToken: card.publicToken, amount: 400, currency: 'EUR' }
  await send(service, 'reversals', { ...money, paymentId, reversalId: nextId() })
  await send(service, 'clearings', { clearings: [{ ...money, clearingId: nextId() }] })
  const { json, text } = await support('GET', `/cards/${card.publicToken}/timeline?kind=change`)
  const acts: { type: string; by: object }[] = json.map(({ act }: { act: object }) => act)
  const ofPayments = acts.filter(({ type }) => type.startsWith('payment.'))
  const byNetwork = { kind: 'network', id: null, name: null }
  assert.deepEqual(
    ofPayments.map(({ by, type }) => [type, by]),
    [
      ['payment.forced', byNetwork],
      ['payment.changed', byNetwork],
    ],
    text,
  )
})

test('payments of a card are listed newest first, page by page', async () => {
  const card = await service.createCard({ cardProduct: 2001 }, { as: 'otherClient' })
  const ids: string[] = []
  for (let at = 0; at < 3; at += 1) ids.unshift((await pay(service, card.publicToken)).paymentId)
  const listed: string[] = []
  for (let next: string | undefined = `/cards/${card.publicToken}/payments?limit=2`; next; ) {
    const { headers, json, status, text } = await support('GET', next)
    assert.equal(status, 200, text)
    listed.push(...json.map(({ paymentId }: { paymentId: string }) => paymentId))
    next = /^<(\/[^>]+)>/.exec(String(headers.link ?? ''))?.[1]
  }
  assert.deepEqual(listed, ids)
})

test('what is no payment of the card is not found', async () => {
  const { paymentId } = await pay(service, publicToken)
  const other = await service.createCard()
  for (const path of [
    `/cards/${other.publicToken}/payments/${paymentId}`,
    `/cards/${publicToken}/payments/${randomUUID()}`,
    `/cards/${publicToken}/payments/1`,
  ]) {
    const { json, status } = await support('GET', path)
    assert.deepEqual([status, json.code], [404, 'not_found'], path)
  }
  const unknown = await support('GET', '/cards/9999999999/payments')
  assert.deepEqual([unknown.status, unknown.json.code], [404, 'card_not_found'])
})

test('a card is found by the id of its payment, and by the id of the network', async () => {
  const merchant = { name: 'Corner Bakery' }
  const paid = await pay(service, publicToken, 2_000, { merchant })
  const { networkTransactionId, paymentId } = paid
  for (const search of [{ paymentId }, { networkTransactionId }]) {
    const { json, text } = await support('POST', '/cards/search', search)
    assert.equal(json.length, 1, text)
    assert.equal(json[0].publicToken, publicToken)
    const { openedAt, ...payment } = json[0].payment
    assert.ok(Date.parse(openedAt))
    assert.deepEqual(payment, {
      paymentId,
      state: 'open',
      currency: 'EUR',
      open: 2_000,
      cleared: 0,
      networkTransactionId,
      merchant,
    })
  }
  for (const search of [{ paymentId: randomUUID() }, { networkTransactionId: 'UNKNOWN' }]) {
    assert.deepEqual((await support('POST', '/cards/search', search)).json, [])
  }
  const refused = await support('POST', '/cards/search', { networkTransactionId: 'a-b' })
  assert.equal(refused.status, 422)
})

test('payments of many cards under one id of the network are found page by page', async () => {
  const networkTransactionId = nextId()
  const paid = new Set<string>()
  for (let at = 0; at < 3; at += 1) {
    const card = await service.createCard()
    paid.add((await pay(service, card.publicToken, 100, { networkTransactionId })).paymentId)
  }
  const found: string[] = []
  for (let query = '?limit=2'; query !== ''; ) {
    const answer = await support('POST', `/cards/search${query}`, { networkTransactionId })
    found.push(
      ...answer.json.map(({ payment }: { payment: { paymentId: string } }) => payment.paymentId),
    )
    query = /<\/cards\/search(\?[^>]+)>/.exec(String(answer.headers.link ?? ''))?.[1] ?? ''
  }
  assert.deepEqual(found.toSorted(), [...paid].toSorted())
})
