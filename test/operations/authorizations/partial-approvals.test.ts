import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { before, test } from 'node:test'
import { ask, cvvTry, type IssuedCard, issueCard, pinTry } from '../../support/network.ts'
import { sql, type TestService } from '../../support/service.ts'
import { readPayment, send } from '../payments/network.ts'
import { onEachEngine } from './engines.ts'
import { eventsOf } from './tried.ts'

onEachEngine((engine) => {
  let service: TestService
  before(async () => {
    service = await engine.openOne()
  })

  const restricted = async (controls: object) => {
    const card = await issueCard(service)
    const body = { version: 0, ...controls }
    await service.call('PUT', `/cards/${card.publicToken}/controls`, { body })
    return card
  }
  const part = (amount: number, members: object = {}) => ({
    amount,
    currency: 'EUR',
    partialAllowed: true,
    ...members,
  })
  const buy = async ({ publicToken }: IssuedCard, request: object, options = {}) =>
    (await ask(service, { publicToken, ...request }, options)).json
  const readNewest = async ({ publicToken }: IssuedCard) =>
    (await service.call('GET', `/cards/${publicToken}/authorizations?limit=1`)).json[0]
  const amountOf = async ({ publicToken }: IssuedCard, window = 'day') => {
    const [row] = await sql<{ windows: Record<string, { amount: number; count: number }> }>(
      service.database,
      'select windows from card_spending where public_token = $1',
      [publicToken],
    )
    return row?.windows[window]?.amount
  }
  const day = (maximumAmount: number, members: object = {}) => ({
    limits: [{ period: 'day', maximumAmount, ...members }],
  })

  const requests: Record<string, (card: IssuedCard) => object> = {
    'without a try': () => ({}),
    'with a PIN': (card) => pinTry(service, card),
    'with a CVV2': (card) => cvvTry(card),
  }
  for (const [title, request] of Object.entries(requests)) {
    test(`a purchase ${title} gets what a limit leaves, and a repeat gets the same`, async () => {
      const card = await restricted(day(1_000))
      const named = request(card)
      const sent = { ...('pan' in named ? {} : { publicToken: card.publicToken }), ...named }
      assert.equal((await ask(service, { ...sent, ...part(700) })).json.responseCode, '00')
      const headers = { 'idempotency-key': randomUUID() }
      const whole = { reference: 'R-0', ...sent, ...part(700) }
      const first = await ask(service, whole, { headers })
      const { approved, approvedAmount, paymentId, responseCode } = first.json
      assert.deepEqual([approved, responseCode, approvedAmount], [true, '10', 300])
      assert.deepEqual((await ask(service, whole, { headers })).json, first.json)
      const held = await readPayment(service, paymentId)
      assert.deepEqual([held.approved, held.open, held.state], [300, 300, 'open'])
      assert.equal(await amountOf(card), 1_000)

      const newest = await readNewest(card)
      assert.deepEqual([newest.approved, newest.amount, newest.approvedAmount], [true, 700, 300])
      assert.equal(newest.declineReason, undefined)
      const { control, result } = newest.checks.at(-1)
      assert.deepEqual([control, result], ['limits.day', 'passed'])
      const event = (await eventsOf(service.database, card.publicToken)).at(-1)
      const details = JSON.parse(event?.details ?? '')
      assert.equal(event?.type, 'authorization.approved')
      assert.deepEqual(
        [details.responseCode, details.amount, details.approvedAmount, details.paymentId],
        ['10', 700, 300, paymentId],
      )
      assert.equal((await ask(service, { ...sent, ...part(1) })).json.responseCode, '61')
    })
  }

  test('the limit of one transaction leaves its maximum, and windows may leave less', async () => {
    const card = await restricted({
      limits: [
        { period: 'transaction', maximumAmount: 500 },
        { period: 'day', maximumAmount: 800 },
      ],
    })
    const first = await buy(card, part(900))
    assert.deepEqual([first.responseCode, first.approvedAmount], ['10', 500])
    assert.equal((await readNewest(card)).approvedAmount, 500)
    const second = await buy(card, part(900))
    assert.deepEqual([second.responseCode, second.approvedAmount], ['10', 300])
    assert.equal((await readPayment(service, second.paymentId)).approved, 300)
    assert.equal((await buy(card, part(900))).responseCode, '61')
    assert.equal(await amountOf(card), 800)

    const alone = await restricted({ limits: [{ period: 'transaction', maximumAmount: 500 }] })
    const only = await buy(alone, part(900))
    assert.deepEqual([only.responseCode, only.approvedAmount], ['10', 500])
    assert.equal((await readPayment(service, only.paymentId)).approved, 500)
  })

  test('nothing is approved in part that a terminal cannot take, or that is no purchase', async () => {
    const card = await restricted(day(1_000))
    const others = [
      { partialAllowed: false },
      ...['cash', 'cashback', 'quasiCash', 'funding'].map((transactionType) => ({
        transactionType,
      })),
      { billingAmount: 1_200, billingCurrency: 'EUR' },
      { networkTransactionId: 'X1', isIncrement: true },
    ]
    for (const members of others) {
      assert.equal((await buy(card, part(1_100, members))).responseCode, '61')
    }
    assert.equal((await buy(card, part(1_100))).approvedAmount, 1_000)
  })

  test('a count that is used up, and a shadow limit, leave no part', async () => {
    const used = await restricted(day(1_000, { maximumCount: 1 }))
    assert.equal((await buy(used, part(100))).responseCode, '00')
    assert.equal((await buy(used, part(1_000))).responseCode, '61')
    const card = await restricted({ shadow: day(100) })
    assert.equal((await buy(card, part(1_000))).responseCode, '00')
  })

  test('a reversal gives back the approved part, and no more', async () => {
    const card = await restricted(day(1_000))
    const { paymentId } = await buy(card, part(1_500))
    const { publicToken } = card
    const message = { reversalId: randomUUID(), publicToken, paymentId }
    const { applied } = await send(service, 'reversals', message)
    assert.deepEqual([applied, await amountOf(card)], [1_000, 0])
  })

  test('purchases that race for what is left get it once', async () => {
    const card = await restricted(day(1_000))
    const answers = await Promise.all(Array.from({ length: 12 }, () => buy(card, part(300))))
    const approved = answers.map(({ approvedAmount, responseCode }) =>
      responseCode === '00' ? 300 : (approvedAmount ?? 0),
    )
    assert.equal(
      approved.reduce((sum, amount) => sum + amount, 0),
      1_000,
    )
    assert.deepEqual(approved.filter((amount) => amount > 0).toSorted(), [100, 300, 300, 300])
    assert.equal(await amountOf(card), 1_000)
  })

  test('the dry run tells what would be approved', async () => {
    const card = await restricted(day(1_000))
    await buy(card, part(400))
    const explain = async (members: object) => {
      const body = { entryMode: 'chip', ...part(900), ...members }
      const path = `/cards/${card.publicToken}/controls/explain`
      const { json } = await service.call('POST', path, { body })
      return [json.approved, json.approvedAmount, json.objections.length]
    }
    assert.deepEqual(await explain({}), [true, 600, 1])
    assert.deepEqual(await explain({ partialAllowed: false }), [false, undefined, 1])
    assert.deepEqual(await explain({ transactionType: 'cash' }), [false, undefined, 1])
    assert.deepEqual(await explain({ amount: 600 }), [true, undefined, 0])
    const simulated = await service.call('POST', '/simulator/authorizations', {
      body: { publicToken: card.publicToken, ...part(900) },
    })
    assert.deepEqual([simulated.json.responseCode, simulated.json.approvedAmount], ['10', 600])
  })
})
