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
  readNewest,
  spendingOf,
} from './deciding.ts'

/** Increments that the client decides, of payments with a card that was replaced. */

const limits = [{ period: 'day', maximumAmount: 50_000, maximumCount: 10 }]

type Named = Pick<IssuedCard, 'publicToken'>

interface OpenPayment {
  readonly paymentId: string
  readonly networkTransactionId: string
}

/** How an increment names its payment. */
const increments = {
  'the id of the payment': ({ paymentId }: OpenPayment) => ({ paymentId }),
  'the network transaction': ({ networkTransactionId }: OpenPayment) => ({
    networkTransactionId,
    isIncrement: true,
  }),
}

onEachEngine((engine) => {
  let service: TestService
  let deciding: Deciding
  before(async () => {
    service = await engine.openOne()
    deciding = await letClientDecide(service)
  })

  /** Replaces a card by one that is active at once. */
  const renumber = async ({ publicToken }: Named): Promise<Named> => {
    const body = { activateNow: true }
    const answer = await service.call('POST', `/cards/${publicToken}/replace`, { body })
    assert.equal(answer.status, 200, answer.text)
    return answer.json
  }

  const approve = (card: Named, members: object) => {
    deciding.answerBy(() => ({ decision: 'approve' }))
    return buy(service, card, members)
  }

  /** Begins a purchase that waits for its client, and resolves when the client has been asked. */
  const beginPurchase = async (card: Named, members: object, decision: 'approve' | 'decline') => {
    const asked = deciding.asked.length
    const held = heldAnswer({ decision })
    deciding.answerBy(held.behaviour)
    const bought = buy(service, card, members)
    await deciding.askedAfter(asked)
    return { bought, release: held.release }
  }

  const openPayment = async (card: Named): Promise<OpenPayment> => {
    const networkTransactionId = nextId()
    const { json } = await approve(card, purchaseOf(1_000, { networkTransactionId }))
    return { paymentId: json.paymentId, networkTransactionId }
  }

  /** A card with a payment of 1,000, and the card that replaced it. */
  const replacedWithPayment = async () => {
    const card = await issueRestricted(service, { limits })
    const payment = await openPayment(card)
    return { card, payment, successor: await renumber(card) }
  }

  const paymentsOf = ({ publicToken }: Named) =>
    sql<{ openedBy: string; approved: number; reversed: number }>(
      service.database,
      `select opened_by as "openedBy", approved::integer, reversed::integer
       from payment where public_token = $1 order by payment_id`,
      [publicToken],
    )

  for (const [name, describe] of Object.entries(increments)) {
    test(`an approved increment raises the payment of the replaced card, by ${name}`, async () => {
      const { card, payment, successor } = await replacedWithPayment()
      const raised = await approve(successor, purchaseOf(500, describe(payment)))
      assert.equal(raised.json.responseCode, '00')
      assert.equal((await readNewest(service, successor)).paymentId, payment.paymentId)
      const sums = { openedBy: 'authorization', approved: 1_500, reversed: 0 }
      assert.deepEqual(await paymentsOf(card), [sums])
      assert.deepEqual(await paymentsOf(successor), [])
      assert.equal((await spendingOf(service, card)).amount, 1_500)
    })

    test(`a declined increment gives back what it reserved, by ${name}`, async () => {
      const { card, payment, successor } = await replacedWithPayment()
      const increment = purchaseOf(500, describe(payment))
      const { bought, release } = await beginPurchase(successor, increment, 'decline')
      assert.equal((await spendingOf(service, card)).amount, 1_500)
      release()
      assert.equal((await bought).json.responseCode, '05')
      const sums = { openedBy: 'authorization', approved: 1_000, reversed: 0 }
      assert.deepEqual(await paymentsOf(card), [sums])
      assert.equal((await spendingOf(service, card)).amount, 1_000)
    })

    test(`an increment holds nothing if the payment is reversed meanwhile, by ${name}`, async () => {
      const { card, payment, successor } = await replacedWithPayment()
      const increment = purchaseOf(500, describe(payment))
      const { bought, release } = await beginPurchase(successor, increment, 'approve')
      const { networkTransactionId } = payment
      const reversed = { publicToken: successor.publicToken, networkTransactionId }
      await send(service, 'reversals', { reversalId: nextId(), ...reversed })
      release()
      assert.equal((await bought).json.responseCode, '94')
      const sums = { openedBy: 'authorization', approved: 1_000, reversed: 1_000 }
      assert.deepEqual(await paymentsOf(card), [sums])
      assert.deepEqual(await paymentsOf(successor), [])
      assert.equal((await spendingOf(service, card)).amount, 0)
      const outcome = (await outcomesOf(service, successor)).at(-1)
      assert.equal(outcome?.details.declineReason, 'transaction_reversed')
    })
  }

  test('an increment raises its payment, too, if its card is replaced meanwhile', async () => {
    const card = await issueRestricted(service, { limits })
    const payment = await openPayment(card)
    const increment = purchaseOf(500, increments['the id of the payment'](payment))
    const { bought, release } = await beginPurchase(card, increment, 'approve')
    const successor = await renumber(card)
    release()
    assert.equal((await bought).json.responseCode, '00')
    const sums = { openedBy: 'authorization', approved: 1_500, reversed: 0 }
    assert.deepEqual(await paymentsOf(card), [sums])
    const [change] = await sql<{ details: string }>(
      service.database,
      `select details from event where public_token = $1 and type = 'payment.changed'
       order by sequence desc limit 1`,
      [card.publicToken],
    )
    assert.equal(JSON.parse(change?.details ?? '{}').currentCard, successor.publicToken)
  })
})
