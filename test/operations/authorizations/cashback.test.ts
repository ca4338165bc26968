import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { ask, type IssuedCard, issueCard, pinTry } from '../../support/network.ts'
import { sql, type TestService } from '../../support/service.ts'
import { nextId, send } from '../payments/network.ts'
import { onEachEngine } from './engines.ts'
import { eventsOf } from './tried.ts'

onEachEngine((engine) => {
  let service: TestService
  before(async () => {
    service = await engine.openOne()
  })

  const restricted = async (limits: readonly object[]) => {
    const card = await issueCard(service)
    const body = { version: 0, limits }
    await service.call('PUT', `/cards/${card.publicToken}/controls`, { body })
    return card
  }
  const withCash = (amount: number, cashbackAmount?: number) => ({
    amount,
    currency: 'EUR',
    transactionType: 'cashback',
    ...(cashbackAmount !== undefined && { cashbackAmount }),
  })
  const buy = async ({ publicToken }: IssuedCard, request: object) =>
    (await ask(service, { publicToken, ...request })).json
  const amountsOf = async ({ publicToken }: IssuedCard) => {
    const [row] = await sql<{ windows: Record<string, { amount: number }> }>(
      service.database,
      'select windows from card_spending where public_token = $1',
      [publicToken],
    )
    return [row?.windows.day?.amount, row?.windows['day.cashback']?.amount]
  }

  test('the cash of a purchase is recorded, with and without a PIN', async () => {
    const card = await issueCard(service)
    for (const request of [{ publicToken: card.publicToken }, pinTry(service, card)]) {
      const { json } = await ask(service, { ...request, ...withCash(5_000, 2_000) })
      assert.equal(json.responseCode, '00')
      const path = `/cards/${card.publicToken}/authorizations?limit=1`
      const [newest] = (await service.call('GET', path)).json
      assert.deepEqual([newest.amount, newest.cashbackAmount], [5_000, 2_000])
      const event = (await eventsOf(service.database, card.publicToken)).at(-1)
      assert.equal(JSON.parse(event?.details ?? '').cashbackAmount, 2_000)
    }
  })

  test('amounts of limits of the channel cashback count the cash alone, if it is given', async () => {
    const card = await restricted([
      { period: 'day', maximumAmount: 100_000 },
      { period: 'day', channel: 'cashback', maximumAmount: 3_000 },
    ])
    assert.equal((await buy(card, withCash(50_000, 2_000))).responseCode, '00')
    assert.deepEqual(await amountsOf(card), [50_000, 2_000])
    assert.equal((await buy(card, withCash(2_000, 1_001))).responseCode, '61')
    const converted = { ...withCash(1_000, 500), billingAmount: 1_501, billingCurrency: 'EUR' }
    assert.equal((await buy(card, { ...converted, currency: 'USD' })).responseCode, '00')
    // A part of a converted amount is rounded up.
    assert.deepEqual(await amountsOf(card), [51_501, 2_751])
    // Without the cash, the whole amount may be cash.
    assert.equal((await buy(card, withCash(250))).responseCode, '61')
    assert.equal((await buy(card, withCash(249))).responseCode, '00')

    const once = await restricted([
      { period: 'transaction', channel: 'cashback', maximumAmount: 1_000 },
    ])
    assert.equal((await buy(once, withCash(9_000, 1_000))).responseCode, '00')
    assert.equal((await buy(once, withCash(9_000, 1_001))).responseCode, '61')
  })

  test('a reversal gives the cash back when less than the cash is left', async () => {
    const card = await restricted([
      { period: 'day', maximumAmount: 100_000 },
      { period: 'day', channel: 'cashback', maximumAmount: 3_000 },
    ])
    const { paymentId } = await buy(card, withCash(5_000, 2_000))
    const { publicToken } = card
    const reverse = (amount: number) =>
      send(service, 'reversals', {
        reversalId: nextId(),
        publicToken,
        paymentId,
        amount,
        currency: 'EUR',
      })
    await reverse(2_500)
    assert.deepEqual(await amountsOf(card), [2_500, 2_000])
    await reverse(1_000)
    assert.deepEqual(await amountsOf(card), [1_500, 1_500])
    await reverse(1_500)
    assert.deepEqual(await amountsOf(card), [0, 0])
  })

  test('cash is a part of the amount of a purchase with cash', async () => {
    const { publicToken } = await issueCard(service)
    for (const members of [
      withCash(1_000, 1_001),
      withCash(1_000, -1),
      { ...withCash(1_000, 100), transactionType: 'purchase' },
      { transactionType: 'cashback', cashbackAmount: 100 },
    ]) {
      const answer = await ask(service, { publicToken, ...members })
      assert.equal(answer.status, 422)
      assert.equal(answer.json.errors[0].pointer, '/cashbackAmount')
    }
  })
})
