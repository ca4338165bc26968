import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { findCashCharge, toTransaction } from '../../src/domain/transaction.ts'

const findCash = (amount: number, cashbackAmount: number, billingAmount: number) =>
  findCashCharge(
    toTransaction({
      transactionType: 'cashback',
      amount,
      currency: 'USD',
      cashbackAmount,
      billingAmount,
      billingCurrency: 'EUR',
    }),
  )

test('the cash of a converted amount is its exact part, rounded up', () => {
  assert.equal(findCash(32_205_012, 16_102_506, 5_468_680_492), 2_734_340_246)
  assert.equal(findCash(1_000, 500, 1_501), 751)
  assert.equal(findCash(1_000, 0, 1_501), 0)
  assert.equal(findCash(0, 0, 0), 0)
})

test('where the whole amount is cash, all of the charge is', () => {
  const amount = fc.maxSafeNat().filter((each) => each > 0)
  fc.assert(
    fc.property(amount, fc.maxSafeNat(), (whole, charge) => {
      assert.equal(findCash(whole, whole, charge), charge)
    }),
  )
})
