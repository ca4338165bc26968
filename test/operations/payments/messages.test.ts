import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import type { PublicToken } from '../../../src/domain/identifiers.ts'
import { expireHolds } from '../../../src/operations/payments/expiry.ts'
import { ask, issueCard, otherDigits, pinTry } from '../../support/network.ts'
import { sql, type TestService } from '../../support/service.ts'
import { onEachEngine } from '../authorizations/engines.ts'
import { eventsOf } from '../authorizations/tried.ts'
import { nextId, pay, readPayment, send } from './network.ts'

onEachEngine((engine) => {
  let service: TestService
  let publicToken: PublicToken
  before(async () => {
    service = await engine.openOne()
    publicToken = (await service.createCard()).publicToken
  })

  const eur = (amount: number) => ({ amount, currency: 'EUR' })
  const reverse = (members: object) =>
    send(service, 'reversals', { reversalId: nextId(), publicToken, ...members })
  const advise = (members: object) =>
    send(service, 'advices', { adviceId: nextId(), publicToken, ...members })
  const clear = async (...records: object[]) => {
    const clearings = records.map((record) => ({ clearingId: nextId(), publicToken, ...record }))
    return (await send(service, 'clearings', { clearings })).results
  }
  const sums = async (paymentId: string) => {
    const { approved, cleared, open, refunded, reversed, state } = await readPayment(
      service,
      paymentId,
    )
    return { state, approved, reversed, cleared, refunded, open }
  }
  const expireAll = (days: number) =>
    expireHolds({
      database: service.database,
      now: () => new Date(Date.now() + days * 86_400_000),
    })

  test('an approval holds its amount, and the answer and the record name its payment', async () => {
    const { paymentId } = await pay(service, publicToken)
    const open = { approved: 10_000, reversed: 0, cleared: 0, refunded: 0, open: 10_000 }
    assert.deepEqual(await sums(paymentId), { state: 'open', ...open })
    const { json } = await service.call('GET', `/authorizations/${paymentId}`)
    assert.equal(json.paymentId, paymentId)
    const event = (await eventsOf(service.database, publicToken)).at(-1)
    assert.equal(JSON.parse(event?.details ?? '').paymentId, paymentId)
  })

  test('a reversal takes back its amount, and everything without one', async () => {
    const { networkTransactionId, paymentId } = await pay(service, publicToken)
    assert.deepEqual((await reverse({ networkTransactionId, ...eur(4_000) })).applied, 4_000)
    assert.equal((await readPayment(service, paymentId)).state, 'open')
    const whole = await reverse({ paymentId })
    assert.deepEqual([whole.effect, whole.applied], ['release', 6_000])
    assert.equal((await readPayment(service, paymentId)).state, 'voided')
  })

  test('what remains is told apart from what is taken back', async () => {
    const { paymentId } = await pay(service, publicToken)
    const { applied } = await reverse({ paymentId, ...eur(7_000), amountIs: 'remaining' })
    assert.equal(applied, 3_000)
    const again = await reverse({ paymentId, ...eur(2_000), amountIs: 'remaining' })
    assert.equal(again.applied, 5_000)
    assert.equal((await sums(paymentId)).open, 2_000)
  })

  test('a reversal of more than is open takes back what is open, and says so', async () => {
    const { paymentId } = await pay(service, publicToken)
    const { applied, overReversal, responseCode } = await reverse({ paymentId, ...eur(12_000) })
    assert.deepEqual([responseCode, applied, overReversal], ['00', 10_000, 2_000])
    assert.equal((await sums(paymentId)).state, 'voided')
  })

  test('a repeat of any message has the first answer, and no effect', async () => {
    const { paymentId } = await pay(service, publicToken)
    const reversal = { reversalId: nextId(), paymentId, ...eur(1_000) }
    assert.deepEqual(await reverse(reversal), await reverse(reversal))
    const advice = { adviceId: nextId(), paymentId, ...eur(8_000) }
    assert.deepEqual(await advise(advice), await advise(advice))
    const clearing = { clearingId: nextId(), paymentId, ...eur(3_000), isFinal: false }
    assert.deepEqual(await clear(clearing), await clear(clearing))
    const refund = { clearingId: nextId(), paymentId, ...eur(500), isRefund: true }
    assert.deepEqual(await clear(refund), await clear(refund))
    const { messages } = await readPayment(service, paymentId)
    assert.deepEqual(
      messages.map(({ effect }) => effect),
      ['release', 'replace', 'clear', 'refund'],
    )
    const left = { approved: 9_000, reversed: 1_000, cleared: 3_000, refunded: 500, open: 5_000 }
    assert.deepEqual(await sums(paymentId), { state: 'partlyCleared', ...left })
    const [other] = await clear({ ...clearing, ...eur(3_001) })
    assert.equal(other.responseCode, '94')
  })

  test('a key that comes back with another message is told, and has no effect', async () => {
    const { paymentId } = await pay(service, publicToken)
    const reversal = { reversalId: nextId(), paymentId, ...eur(1_000) }
    await reverse(reversal)
    for (const change of [eur(2_000), { amountIs: 'remaining' }]) {
      assert.equal((await reverse({ ...reversal, ...change })).responseCode, '94')
    }
    const clearing = { clearingId: nextId(), paymentId, ...eur(3_000) }
    await clear(clearing)
    for (const change of [{ isRefund: true }, { isFinal: false }]) {
      const [answer] = await clear({ ...clearing, ...change })
      assert.equal(answer.responseCode, '94')
    }
    const left = { approved: 10_000, reversed: 1_000, cleared: 3_000, refunded: 0, open: 0 }
    assert.deepEqual(await sums(paymentId), { state: 'cleared', ...left })
  })

  test('of two payments with one id of the network, a message reaches the one that is held', async () => {
    const { networkTransactionId, paymentId } = await pay(service, publicToken)
    const second = await pay(service, publicToken, 20_000, { networkTransactionId })
    await reverse({ paymentId: second.paymentId })
    const [cleared] = await clear({ clearingId: nextId(), networkTransactionId, ...eur(10_000) })
    assert.deepEqual([cleared.paymentId, cleared.effect], [paymentId, 'clearFinal'])
  })

  test('nothing follows once the rest of a partly cleared payment is taken back', async () => {
    const { paymentId } = await pay(service, publicToken)
    await clear({ clearingId: nextId(), paymentId, ...eur(3_000), isFinal: false })
    assert.equal((await reverse({ paymentId })).applied, 7_000)
    assert.equal((await sums(paymentId)).state, 'cleared')
  })

  test('an amount that is held of a forced payment expires', async () => {
    const [forced] = await clear({
      clearingId: nextId(),
      networkTransactionId: nextId(),
      ...eur(3_000),
      isFinal: false,
    })
    await advise({ adviceId: nextId(), paymentId: forced.paymentId, ...eur(700) })
    const [row] = await sql<{ days: number }>(
      service.database,
      `select extract(day from hold_expires_at - opened_at)::integer as days from payment
       where payment_id = $1`,
      [forced.paymentId],
    )
    assert.ok(row && row.days >= 6, String(row?.days))
  })

  test('no key of a message holds the number of its card', async () => {
    const { pan } = await issueCard(service)
    for (const [path, member] of [
      ['reversals', 'reversalId'],
      ['advices', 'adviceId'],
    ] as const) {
      const answer = await service.call('POST', `//network/${path}`, {
        as: 'network',
        listener: 'private',
        body: { [member]: pan, pan, networkTransactionId: nextId(), ...eur(100) },
      })
      assert.deepEqual([answer.status, answer.json.errors[0].pointer], [422, `/${member}`])
    }
  })

  test('no id of a message holds the number of a card, also where a token names its card', async () => {
    const { pan } = await issueCard(service)
    const dashed = pan.replace(/(....)(?=.)/g, '$1-')
    const post = (path: string, body: object) =>
      service.call('POST', `//network/${path}`, { as: 'network', listener: 'private', body })
    const named = { publicToken, networkTransactionId: nextId(), ...eur(100) }
    const messages = [
      ['reversals', { reversalId: dashed, ...named }, '/reversalId'],
      ['advices', { adviceId: `20261127.${pan}`, ...named }, '/adviceId'],
      ['advices', { adviceId: nextId(), reference: `R${pan}`, ...named }, '/reference'],
      [
        'clearings',
        {
          clearings: [
            { clearingId: nextId(), ...named },
            { clearingId: `7${pan}1`, ...named },
          ],
        },
        '/clearings/1/clearingId',
      ],
      ['authorizations', { publicToken, entryMode: 'chip', reference: dashed }, '/reference'],
    ] as const
    for (const [path, body, pointer] of messages) {
      const answer = await post(path, body)
      assert.deepEqual([answer.status, answer.json.errors[0].pointer], [422, pointer])
      assert.ok(!answer.text.includes(pan) && !answer.text.includes(dashed))
    }
    const simulated = { publicToken, messageKey: dashed, networkTransactionId: nextId() }
    const answer = await service.call('POST', '/simulator/reversals', { body: simulated })
    assert.deepEqual([answer.status, answer.json.errors[0].pointer], [422, '/messageKey'])
  })

  test('an id that looks like a card number by chance is accepted', async () => {
    const acquirerReference = '74123456332512345678901'
    for (const id of ['4111111111111111', acquirerReference, '5555.5555-5555_4444']) {
      const [result] = await clear({ clearingId: id, networkTransactionId: nextId(), ...eur(100) })
      assert.equal(result.responseCode, '00')
    }
    const answer = await ask(service, { publicToken, reference: '4111111111111111' })
    assert.equal(answer.json.responseCode, '00')
  })

  test('a reversal that comes before its original declines it, with and without a PIN', async () => {
    const card = await issueCard(service)
    const networkTransactionId = nextId()
    const early = await reverse({ publicToken: card.publicToken, networkTransactionId })
    assert.deepEqual([early.responseCode, early.effect], ['00', 'remember'])
    assert.equal(early.paymentId, undefined)
    for (const original of [{ publicToken: card.publicToken }, pinTry(service, card)]) {
      const request = { ...original, ...eur(1_000), networkTransactionId, reference: 'R-0' }
      assert.equal((await ask(service, request)).json.responseCode, '94')
      const headers = { 'idempotency-key': nextId() }
      const first = await ask(service, request, { headers })
      assert.equal(first.json.responseCode, '94')
      assert.deepEqual((await ask(service, request, { headers })).json, first.json)
    }
    const listed = await service.call('GET', `/cards/${card.publicToken}/authorizations`)
    assert.equal(listed.json.length, 4)
    for (const { declineReason, paymentId } of listed.json) {
      assert.deepEqual([declineReason, paymentId], ['transaction_reversed', undefined])
    }
    const events = await eventsOf(service.database, card.publicToken)
    const declines = events.filter(({ type }) => type === 'authorization.declined')
    assert.equal(declines.length, 4)
    for (const { details } of declines) assert.equal(JSON.parse(details).paymentId, undefined)
  })

  test('a reversal that is remembered does nothing against a later advice', async () => {
    const card = await issueCard(service)
    const by = { publicToken: card.publicToken, networkTransactionId: nextId() }
    assert.equal((await reverse(by)).effect, 'remember')
    const advice = { ...by, ...eur(1_000), adviceId: nextId() }
    const { effect, paymentId } = await send(service, 'advices', advice)
    assert.equal(effect, 'openDecided')
    assert.equal((await sums(paymentId)).open, 1_000)
  })

  test('a reversal of what was declined has no effect, and declines no later purchase', async () => {
    const card = await issueCard(service)
    const wrong = { expiryDate: '2031-01' }
    for (const declined of [
      { publicToken: card.publicToken, ...wrong },
      { ...pinTry(service, card, otherDigits(card.pin)) },
    ]) {
      const networkTransactionId = nextId()
      const request = { ...declined, ...eur(1_000), networkTransactionId, reference: 'R-0' }
      assert.notEqual((await ask(service, request)).json.responseCode, '00')
      const reversal = { publicToken: card.publicToken, networkTransactionId, reversalId: nextId() }
      const first = await reverse(reversal)
      assert.deepEqual([first.responseCode, first.effect, first.applied], ['00', 'record', 0])
      assert.deepEqual(await reverse(reversal), first)
      const later = { publicToken: card.publicToken, ...eur(1_000), networkTransactionId }
      assert.equal((await ask(service, later)).json.responseCode, '00')
    }
  })

  test('an early reversal is remembered for 24 hours of the clock of the service', async () => {
    const moved = await engine.openOne()
    const card = (await moved.createCard()).publicToken
    const networkTransactionId = nextId()
    await send(moved, 'reversals', {
      reversalId: nextId(),
      publicToken: card,
      networkTransactionId,
    })
    const answerAfter = async (hours: number) => {
      const now = new Date(Date.now() + hours * 3_600_000).toISOString()
      await moved.call('POST', '//sandbox/clock', {
        as: 'admin',
        listener: 'private',
        body: { now },
      })
      const purchase = { publicToken: card, ...eur(5), networkTransactionId }
      return (await ask(moved, purchase)).json.responseCode
    }
    assert.equal(await answerAfter(0), '94')
    assert.equal(await answerAfter(23), '94')
    assert.equal(await answerAfter(25), '00')
  })

  test('a reversal after a decline of another transaction is remembered', async () => {
    const card = (await service.createCard()).publicToken
    const declined = { publicToken: card, expiryDate: '2031-01', networkTransactionId: nextId() }
    assert.equal((await ask(service, { ...declined, ...eur(5) })).json.responseCode, '54')
    const early = await reverse({ publicToken: card, networkTransactionId: nextId() })
    assert.equal(early.effect, 'remember')
  })

  test('a payment is opened in the currency of the card only', async () => {
    const usd = { amount: 700, currency: 'USD' }
    const networkTransactionId = nextId()
    for (const record of [usd, { ...usd, isFinal: false }, { ...usd, isRefund: true }]) {
      const [refused] = await clear({ ...record, networkTransactionId })
      assert.deepEqual([refused.responseCode, refused.paymentId], ['12', undefined])
    }
    const advised = await advise({ ...usd, networkTransactionId })
    assert.equal(advised.responseCode, '12')
    // Nothing was recorded under their keys or the transaction.
    const [forced] = await clear({ ...eur(700), networkTransactionId })
    assert.equal(forced.effect, 'forceFinal')
  })

  test('several clearings move money until the final one, and a refund moves it back', async () => {
    const { networkTransactionId, paymentId } = await pay(service, publicToken)
    const [first, second, refund] = await clear(
      { networkTransactionId, ...eur(3_000), isFinal: false },
      { networkTransactionId, ...eur(6_500) },
      { networkTransactionId, ...eur(1_000), isRefund: true },
    )
    assert.deepEqual(
      [first.effect, second.effect, refund.effect],
      ['clear', 'clearFinal', 'refund'],
    )
    const moved = { approved: 10_000, reversed: 0, cleared: 9_500, refunded: 1_000, open: 0 }
    assert.deepEqual(await sums(paymentId), { state: 'cleared', ...moved })
  })

  test('a clearing of an unknown payment is a forced payment, and a refund a credit payment', async () => {
    const [forced, credit] = await clear(eur(700), { ...eur(300), isRefund: true })
    assert.deepEqual([forced.effect, credit.effect], ['forceFinal', 'credit'])
    const of = { approved: 0, reversed: 0, open: 0, state: 'cleared' }
    assert.deepEqual(await sums(forced.paymentId), { ...of, cleared: 700, refunded: 0 })
    assert.deepEqual(await sums(credit.paymentId), { ...of, cleared: 0, refunded: 300 })
    const types = (await eventsOf(service.database, publicToken)).map(({ type }) => type)
    assert.deepEqual(types.slice(-2), ['payment.forced', 'payment.changed'])
  })

  test('an increment raises an open payment, and opens another after the end of the first', async () => {
    const { networkTransactionId, paymentId } = await pay(service, publicToken)
    const by = { publicToken, ...eur(500) }
    await ask(service, { ...by, paymentId })
    await ask(service, { ...by, networkTransactionId, isIncrement: true })
    assert.equal((await sums(paymentId)).approved, 11_000)
    const [newest] = (await service.call('GET', `/cards/${publicToken}/authorizations`)).json
    assert.equal(newest.paymentId, paymentId)
    const types = (await eventsOf(service.database, publicToken)).map(({ type }) => type)
    assert.deepEqual(types.slice(-2), ['authorization.approved', 'payment.changed'])
    await clear({ paymentId, ...eur(11_000) })
    await ask(service, { ...by, paymentId })
    assert.equal((await sums(paymentId)).approved, 11_000)
    const [late] = (await service.call('GET', `/cards/${publicToken}/authorizations`)).json
    assert.notEqual(late.paymentId, paymentId)
    assert.equal((await sums(late.paymentId)).open, 500)
  })

  test('the answer to an increment that names its payment says which payment holds its amount', async () => {
    const card = await issueCard(service)
    const { networkTransactionId, paymentId } = await pay(service, card.publicToken)
    const byToken = { publicToken: card.publicToken }
    for (const asked of [byToken, pinTry(service, card)]) {
      const increment = { ...asked, ...eur(500), reference: 'R-0' }
      const keyed = () => ({ headers: { 'idempotency-key': nextId() } })
      const options = keyed()
      const raised = await ask(service, { ...increment, paymentId }, options)
      assert.deepEqual([raised.json.responseCode, raised.json.paymentId], ['00', paymentId])
      const again = await ask(service, { ...increment, paymentId }, options)
      assert.deepEqual(again.json, raised.json)
      const unnamed = { ...increment, networkTransactionId, isIncrement: true }
      assert.equal((await ask(service, unnamed, keyed())).json.paymentId, undefined)

      const over = await pay(service, card.publicToken)
      await clear({ publicToken: card.publicToken, paymentId: over.paymentId, ...eur(10_000) })
      const late = { ...increment, paymentId: over.paymentId }
      const lateOptions = keyed()
      const flagged = await ask(service, late, lateOptions)
      assert.equal(flagged.json.responseCode, '00')
      const held = await sums(flagged.json.paymentId)
      assert.deepEqual([held.state, held.open], ['open', 500])
      assert.notEqual(flagged.json.paymentId, over.paymentId)
      assert.deepEqual((await ask(service, late, lateOptions)).json, flagged.json)
      const unkeyed = await ask(service, late)
      assert.equal((await sums(unkeyed.json.paymentId)).open, 500)
    }
  })

  test('an increment with a PIN raises the payment, and a refused one leaves it as it is', async () => {
    const card = await issueCard(service)
    const { paymentId } = await pay(service, card.publicToken)
    const right = await ask(service, { ...pinTry(service, card), ...eur(500), paymentId })
    assert.equal(right.json.responseCode, '00')
    const wrong = { ...pinTry(service, card), ...eur(500), paymentId, expiryDate: '2031-01' }
    assert.equal((await ask(service, wrong)).json.responseCode, '54')
    assert.equal((await sums(paymentId)).approved, 10_500)
  })

  test('a hold expires when it is due, and a late clearing still moves money', async () => {
    const { paymentId } = await pay(service, publicToken)
    const fuel = { merchant: { categoryCode: '5542' } }
    const pumped = await pay(service, publicToken, 15_000, fuel)
    await clear({ paymentId: pumped.paymentId, ...eur(4_000), isFinal: false })
    await expireAll(2)
    assert.equal((await sums(paymentId)).state, 'open')
    assert.equal((await sums(pumped.paymentId)).state, 'cleared')
    await Promise.all([expireAll(8), expireAll(8)])
    assert.equal((await sums(paymentId)).state, 'expired')
    const { messages } = await readPayment(service, paymentId)
    assert.deepEqual(messages, [{ kind: 'expiry', effect: 'expire', applied: 10_000 }])
    const [late] = await clear({ paymentId, ...eur(9_000) })
    assert.equal(late.effect, 'clearLate')
    assert.deepEqual((await sums(paymentId)).state, 'cleared')
  })

  test("the network's own expiry of a hold wins", async () => {
    const holdExpiresAt = new Date(Date.now() + 20 * 86_400_000).toISOString()
    const { paymentId } = await pay(service, publicToken, 100, { holdExpiresAt })
    await expireAll(19)
    assert.equal((await sums(paymentId)).state, 'open')
    await expireAll(21)
    assert.equal((await sums(paymentId)).state, 'expired')
    assert.equal((await advise({ paymentId, ...eur(80) })).effect, 'reopen')
    assert.equal((await sums(paymentId)).open, 80)
  })

  test('a hold that cannot be expired does not keep later ones from their expiry', async () => {
    const broken = (await service.createCard()).publicToken
    const days = (count: number) => new Date(Date.now() + count * 86_400_000).toISOString()
    const first = await pay(service, broken, 100, { holdExpiresAt: days(25) })
    const second = await pay(service, publicToken, 100, { holdExpiresAt: days(26) })
    // No event of that card can be written.
    await service.database.script(
      `alter table event add constraint closed check (public_token <> '${broken}') not valid`,
    )
    await assert.rejects(expireAll(27), ({ errors }: AggregateError) => errors.length === 1)
    assert.equal((await sums(first.paymentId)).state, 'open')
    assert.equal((await sums(second.paymentId)).state, 'expired')
    await service.database.script('alter table event drop constraint closed')
    await expireAll(27)
    assert.equal((await sums(first.paymentId)).state, 'expired')
  })

  test('a product says how long its holds last, and the network of a single hold', async () => {
    const other = await engine.openOne()
    const admin = { as: 'admin', listener: 'private' } as const
    const body = { version: 0, holdDays: 12 }
    const changed = await other.call('PUT', '//products/1001/controls', { ...admin, body })
    assert.equal(changed.status, 200, changed.text)
    assert.equal((await other.call('GET', '//products/1001/controls', admin)).json.holdDays, 12)
    const card = (await other.createCard()).publicToken
    const daysOf = async (paymentId: string) => {
      const { json } = await other.call('GET', `/payments/${paymentId}`)
      return Math.round((Date.parse(json.holdExpiresAt) - Date.now()) / 86_400_000)
    }
    const lodging = { merchant: { categoryCode: '7011' } }
    assert.equal(await daysOf((await pay(other, card, 100, lodging)).paymentId), 12)
    const advice = { adviceId: nextId(), publicToken: card, networkTransactionId: nextId() }
    const advised = await send(other, 'advices', { ...advice, ...eur(5), ...lodging })
    assert.equal(await daysOf(advised.paymentId), 12)
    const holdExpiresAt = new Date(Date.now() + 3 * 86_400_000).toISOString()
    assert.equal(await daysOf((await pay(other, card, 100, { holdExpiresAt })).paymentId), 3)
  })

  test('a final clearing of nothing releases a hold, and opens no payment', async () => {
    const { networkTransactionId, paymentId } = await pay(service, publicToken)
    const [released] = await clear({ networkTransactionId, ...eur(0) })
    assert.deepEqual([released.effect, released.paymentId], ['clearFinal', paymentId])
    const { cleared, open } = await sums(paymentId)
    assert.deepEqual([cleared, open], [0, 0])
    const over = await pay(service, publicToken)
    await reverse({ paymentId: over.paymentId })
    const [late] = await clear({ paymentId: over.paymentId, ...eur(0) })
    assert.equal(late.effect, 'record')
    assert.equal((await sums(over.paymentId)).state, 'voided')
    const unknown = { clearingId: nextId(), networkTransactionId: nextId(), ...eur(0) }
    const [nothing] = await clear(unknown)
    const { effect, paymentId: none, responseCode } = nothing
    assert.deepEqual([responseCode, effect, none], ['00', 'record', undefined])
    assert.deepEqual(await clear(unknown), [nothing])
  })

  test('no other clearing or refund of nothing is accepted', async () => {
    for (const members of [{ isFinal: false }, { isRefund: true }]) {
      const record = { clearingId: nextId(), publicToken, ...eur(0), ...members }
      const options = { as: 'network', listener: 'private' } as const
      const body = { clearings: [record] }
      const { json, status } = await service.call('POST', '//network/clearings', {
        ...options,
        body,
      })
      assert.deepEqual([status, json.errors[0].pointer], [422, '/clearings/0/amount'])
    }
    for (const [path, members] of [
      ['clearings', { isFinal: false }],
      ['refunds', {}],
    ] as const) {
      const body = { publicToken, ...eur(0), ...members }
      const { json, status } = await service.call('POST', `/simulator/${path}`, { body })
      assert.deepEqual([status, json.errors[0].pointer], [422, '/amount'])
    }
  })

  test('a message that would make a sum too large is told, and an increment opens a payment', async () => {
    const { paymentId } = await pay(service, publicToken)
    await sql(
      service.database,
      `update payment set approved = 9007199254740991 - 100, cleared = 9007199254740991 - 200,
         refunded = 9007199254740991 - 100
       where payment_id = $1`,
      [paymentId],
    )
    const over = { paymentId, ...eur(201) }
    const answers = [
      (await clear({ ...over, isFinal: false }))[0],
      (await clear({ ...over, isRefund: true }))[0],
      await advise(over),
    ]
    for (const { paymentId: named, responseCode } of answers) {
      assert.deepEqual([responseCode, named], ['13', undefined])
    }
    const { json } = await ask(service, { publicToken, ...over })
    assert.notEqual(json.paymentId, paymentId)
    assert.equal((await clear({ paymentId, ...eur(200) }))[0].responseCode, '00')
  })

  test('an advice of an unknown transaction opens a payment that the network decided', async () => {
    const { effect, paymentId } = await advise({ networkTransactionId: nextId(), ...eur(100) })
    assert.equal(effect, 'openDecided')
    assert.equal((await sums(paymentId)).open, 100)
  })

  test('a network names its own payments only, and only of the card', async () => {
    const { paymentId } = await pay(service, publicToken)
    const other = (await service.createCard()).publicToken
    assert.equal((await reverse({ publicToken: other, paymentId })).responseCode, '25')
    assert.equal((await reverse({ publicToken: '1999999999', paymentId })).responseCode, '14')
    assert.equal((await advise({ paymentId, amount: 1, currency: 'USD' })).responseCode, '12')
    assert.equal((await sums(paymentId)).open, 10_000)
  })

  test('a thousand clearings are recorded in one call, once', async () => {
    const cards = await Promise.all([1, 2, 3].map(() => service.createCard()))
    const clearings = Array.from({ length: 1_000 }, (_, index) => ({
      clearingId: nextId(),
      publicToken: cards[index % 3]?.publicToken,
      ...eur(index + 1),
      merchant: { name: 'Corner Bakery', city: 'Zürich', country: 'CHE', categoryCode: '0742' },
    }))
    const first = await send(service, 'clearings', { clearings })
    assert.equal(first.results.length, 1_000)
    assert.deepEqual(await send(service, 'clearings', { clearings }), first)
    const tooMany = { clearings: [...clearings, ...clearings] }
    const options = { as: 'network', listener: 'private', body: tooMany } as const
    const refused = await service.call('POST', '//network/clearings', options)
    assert.equal(refused.status, 422)
  })
})
