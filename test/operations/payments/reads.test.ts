import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import type { TestService } from '../../support/service.ts'
import { onEachEngine } from '../authorizations/engines.ts'
import { nextId } from './network.ts'

const money = { amount: 10_000, currency: 'EUR' }
const merchant = { name: 'Corner Bakery', categoryCode: '5462' }

onEachEngine((engine) => {
  let service: TestService
  let publicToken: string
  before(async () => {
    service = await engine.openOne()
    publicToken = (await service.createCard()).publicToken
  })

  const simulate = async (path: string, members: object) => {
    const body = { publicToken, ...members }
    const answer = await service.call('POST', `/simulator/${path}`, { body })
    assert.equal(answer.status, 200, answer.text)
    return answer.json
  }
  const read = async (path: string, options: { as?: 'otherClient' } = {}) =>
    service.call('GET', path, options)

  test('a client simulates the life of a payment, and reads each message of it', async () => {
    const networkTransactionId = nextId()
    const { paymentId } = await simulate('authorizations', {
      ...money,
      networkTransactionId,
      merchant,
    })
    await simulate('increments', { paymentId, ...money, amount: 500 })
    await simulate('reversals', { networkTransactionId, ...money, amount: 300 })
    await simulate('advices', { paymentId, ...money, amount: 9_000 })
    await simulate('clearings', { networkTransactionId, ...money, amount: 4_000, isFinal: false })
    const open = (await read(`/payments/${paymentId}`)).json
    assert.deepEqual([open.state, open.open], ['partlyCleared', 5_000])
    await simulate('clearings', { networkTransactionId, ...money, amount: 5_000 })
    await simulate('refunds', { networkTransactionId, ...money, amount: 1_000 })
    const { messages, openedAt, holdExpiresAt, ...payment } = (await read(`/payments/${paymentId}`))
      .json
    assert.deepEqual(payment, {
      paymentId,
      publicToken,
      state: 'cleared',
      currency: 'EUR',
      approved: 9_300,
      reversed: 300,
      cleared: 9_000,
      refunded: 1_000,
      open: 0,
      openedBy: 'authorization',
      flagged: false,
      transactionType: 'purchase',
      networkTransactionId,
      reference: 'SIMULATOR',
      merchant,
    })
    assert.ok(openedAt < holdExpiresAt)
    assert.deepEqual(
      messages.map(({ effect }: { effect: string }) => effect),
      ['raise', 'release', 'replace', 'clear', 'clearFinal', 'refund'],
    )
  })

  test('payments are listed newest first, page by page, and only to the client of the card', async () => {
    const { paymentId } = await simulate('authorizations', money)
    const page = await read('/payments?limit=1')
    assert.equal(page.json[0].paymentId, paymentId)
    const [, cursor] = /cursor=([^&>]+)/.exec(String(page.headers.link)) ?? []
    const next = await read(`/payments?limit=1&cursor=${cursor}`)
    assert.ok(next.json[0].paymentId < paymentId)
    const ofCard = await read(`/cards/${publicToken}/payments`)
    assert.equal(ofCard.json[0].paymentId, paymentId)
    const as = { as: 'otherClient' } as const
    assert.equal((await read(`/payments/${paymentId}`, as)).status, 404)
    assert.equal((await read(`/cards/${publicToken}/payments`, as)).status, 404)
    assert.deepEqual((await read('/payments', as)).json, [])
    const body = { publicToken, paymentId }
    const foreign = await service.call('POST', '/simulator/reversals', { ...as, body })
    assert.equal(foreign.status, 404)
  })

  test('the simulator repeats the first answer for one message key', async () => {
    const { paymentId } = await simulate('authorizations', money)
    const reversal = { paymentId, messageKey: nextId(), ...money, amount: 100 }
    assert.deepEqual(await simulate('reversals', reversal), await simulate('reversals', reversal))
    assert.equal((await read(`/payments/${paymentId}`)).json.reversed, 100)
  })
})
