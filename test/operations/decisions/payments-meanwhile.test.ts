import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import type { IssuedCard } from '../../support/network.ts'
import { sql, type TestService } from '../../support/service.ts'
import { onEachEngine } from '../authorizations/engines.ts'
import { nextId, send } from '../payments/network.ts'
import {
  buy,
  type Deciding,
  heldAnswer,
  issueRestricted,
  letClientDecide,
  outcomesOf,
  purchaseOf,
  spendingOf,
} from './deciding.ts'

const limits = [{ period: 'day', maximumAmount: 50_000, maximumCount: 10 }]

onEachEngine((engine) => {
  let service: TestService
  let deciding: Deciding
  before(async () => {
    service = await engine.openOne()
    deciding = await letClientDecide(service)
  })

  /** Begins a purchase that its client will approve, and resolves when the client thinks. */
  const beginPurchase = async (card: IssuedCard, members: object) => {
    const before = deciding.asked.length
    const held = heldAnswer()
    deciding.answerBy(held.behaviour)
    const bought = buy(service, card, members)
    await deciding.askedAfter(before)
    return { bought, release: held.release }
  }

  const approve = (card: IssuedCard, members: object) => {
    deciding.answerBy(() => ({ decision: 'approve' }))
    return buy(service, card, members)
  }

  const paymentsOf = ({ publicToken }: IssuedCard) =>
    sql<{ openedBy: string; approved: number; reversed: number; cleared: number }>(
      service.database,
      `select opened_by as "openedBy", approved::integer, reversed::integer, cleared::integer
       from payment where public_token = $1 order by payment_id`,
      [publicToken],
    )

  const messages = {
    reversal: (named: object) => send(service, 'reversals', { reversalId: nextId(), ...named }),
    advice: (named: object, amount = 1_000) =>
      send(service, 'advices', { adviceId: nextId(), ...named, amount, currency: 'EUR' }),
    clearing: (named: object) => {
      const moved = { clearingId: nextId(), amount: 1_000, currency: 'EUR', isFinal: true }
      return send(service, 'clearings', { clearings: [{ ...moved, ...named }] })
    },
  }

  const ends = {
    'is reversed': {
      end: messages.reversal,
      left: { approved: 1_000, reversed: 1_000, cleared: 0 },
      spent: 0,
    },
    'is replaced by nothing': {
      end: (named: object) => messages.advice(named, 0),
      left: { approved: 0, reversed: 0, cleared: 0 },
      spent: 0,
    },
    'is cleared in full': {
      end: messages.clearing,
      left: { approved: 1_000, reversed: 0, cleared: 1_000 },
      spent: 1_000,
    },
  } as const
  for (const [title, { end, left, spent }] of Object.entries(ends)) {
    for (const names of ['paymentId', 'networkTransactionId'] as const) {
      test(`an increment by ${names} holds nothing if its payment ${title} meanwhile`, async () => {
        const card = await issueRestricted(service, { limits })
        const networkTransactionId = nextId()
        const first = await approve(card, purchaseOf(1_000, { networkTransactionId }))
        const { paymentId } = first.json
        const named =
          names === 'paymentId' ? { paymentId } : { networkTransactionId, isIncrement: true }
        const { bought, release } = await beginPurchase(card, purchaseOf(500, named))
        assert.equal((await spendingOf(service, card)).amount, 1_500)
        await end({ publicToken: card.publicToken, networkTransactionId })
        release()
        assert.equal((await bought).json.responseCode, '94')
        assert.deepEqual(await paymentsOf(card), [{ openedBy: 'authorization', ...left }])
        assert.equal((await spendingOf(service, card)).amount, spent)
        const outcome = (await outcomesOf(service, card)).at(-1)
        assert.equal(outcome?.details.declineReason, 'transaction_reversed')
      })
    }
  }

  test('an increment of a payment that was over before opens a payment of its own', async () => {
    const card = await issueRestricted(service, { limits })
    const networkTransactionId = nextId()
    const first = await approve(card, purchaseOf(1_000, { networkTransactionId }))
    await messages.reversal({ publicToken: card.publicToken, networkTransactionId })
    const increment = purchaseOf(500, { paymentId: first.json.paymentId })
    const { bought, release } = await beginPurchase(card, increment)
    await messages.reversal({ publicToken: card.publicToken, networkTransactionId })
    release()
    assert.equal((await bought).json.responseCode, '00')
    const [, own] = await paymentsOf(card)
    assert.deepEqual([own?.openedBy, own?.approved], ['increment', 500])
  })

  test('an increment raises what a reversal left of its payment', async () => {
    const card = await issueRestricted(service, { limits })
    const { publicToken } = card
    const networkTransactionId = nextId()
    const first = await approve(card, purchaseOf(1_000, { networkTransactionId }))
    const increment = purchaseOf(500, { paymentId: first.json.paymentId })
    const { bought, release } = await beginPurchase(card, increment)
    const part = { amount: 300, currency: 'EUR', publicToken, networkTransactionId }
    await messages.reversal(part)
    release()
    assert.equal((await bought).json.responseCode, '00')
    const left = { approved: 1_500, reversed: 300, cleared: 0 }
    assert.deepEqual(await paymentsOf(card), [{ openedBy: 'authorization', ...left }])
  })

  for (const openedBy of ['advice', 'clearing'] as const) {
    test(`an approval opens no second payment if the ${openedBy} came meanwhile`, async () => {
      const card = await issueRestricted(service, { limits })
      const networkTransactionId = nextId()
      const { bought, release } = await beginPurchase(
        card,
        purchaseOf(1_000, { networkTransactionId }),
      )
      await messages[openedBy]({ publicToken: card.publicToken, networkTransactionId })
      release()
      assert.equal((await bought).json.responseCode, '94')
      const payments = await paymentsOf(card)
      assert.deepEqual(
        payments.map((payment) => payment.openedBy),
        [openedBy],
      )
      assert.equal((await spendingOf(service, card)).amount, 0)
    })
  }

  test('a reversal meanwhile counts, also after a decline of the same transaction', async () => {
    const card = await issueRestricted(service, { limits })
    const networkTransactionId = nextId()
    deciding.answerBy(() => ({ decision: 'decline' }))
    const purchase = purchaseOf(1_000, { networkTransactionId })
    assert.equal((await buy(service, card, purchase)).json.responseCode, '05')
    const { bought, release } = await beginPurchase(card, purchase)
    const named = { publicToken: card.publicToken, networkTransactionId }
    assert.equal((await messages.reversal(named)).effect, 'remember')
    release()
    assert.equal((await bought).json.responseCode, '94')
    assert.deepEqual(await paymentsOf(card), [])
    assert.equal((await spendingOf(service, card)).amount, 0)
  })
})
