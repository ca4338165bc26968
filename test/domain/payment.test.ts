import assert from 'node:assert/strict'
import test from 'node:test'
import {
  composeHold,
  countHoldDays,
  deriveOpenAmount,
  derivePaymentState,
} from '../../src/domain/payment.ts'
import { toTransaction } from '../../src/domain/transaction.ts'

const at = new Date('2026-06-01T12:00:00Z')
const open = { approved: 100, reversed: 0, cleared: 0, isFinal: false, isExpired: false }

test('a state follows from the sums', () => {
  const states = [
    [open, 'open', 100],
    [{ ...open, reversed: 40 }, 'open', 60],
    [{ ...open, reversed: 100 }, 'voided', 0],
    [{ ...open, cleared: 40 }, 'partlyCleared', 60],
    [{ ...open, cleared: 120 }, 'partlyCleared', 0],
    [{ ...open, cleared: 40, isFinal: true }, 'cleared', 0],
    [{ ...open, isExpired: true }, 'expired', 0],
    [{ ...open, approved: 0, cleared: 40, isFinal: true }, 'cleared', 0],
  ] as const
  for (const [payment, state, openAmount] of states) {
    assert.equal(derivePaymentState(payment), state)
    assert.equal(deriveOpenAmount(payment), openAmount)
  }
})

test('a hold lasts as long as its merchant category says', () => {
  const days = [
    [undefined, 7],
    ['5462', 7],
    ['3000', 31],
    ['3351', 31],
    ['3999', 31],
    ['4411', 31],
    ['4511', 31],
    ['7011', 31],
    ['7512', 31],
    ['5541', 7],
    ['5542', 1],
    ['0763', 7],
  ] as const
  for (const [categoryCode, expected] of days) {
    assert.equal(countHoldDays(categoryCode === undefined ? null : { categoryCode }), expected)
  }
})

test('a purchase holds its amount, and what moves no money from the card holds nothing', () => {
  const money = { amount: 1234, currency: 'EUR' }
  assert.deepEqual(composeHold(toTransaction(money), at), {
    ...money,
    expiresAt: new Date('2026-06-08T12:00:00Z'),
  })
  assert.equal(composeHold(toTransaction({}), at), null)
  assert.equal(composeHold(toTransaction({ ...money, amount: 0 }), at), null)
  for (const transactionType of ['refund', 'credit'] as const) {
    assert.equal(composeHold(toTransaction({ ...money, transactionType }), at), null)
  }
})
