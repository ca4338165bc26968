import assert from 'node:assert/strict'
import test from 'node:test'
import fc from 'fast-check'
import {
  expiryFault,
  expiryMonthsAfter,
  expiryOfDate,
  makeExpiry,
  parseExpiry,
} from '../../src/domain/calendar.ts'

test('an expiry is written year first, month first, and as the last day of its month', () => {
  const expiry = makeExpiry(2030, 11)
  assert.equal(expiry.yymm(), '3011')
  assert.equal(expiry.mmyy(), '1130')
  assert.equal(expiry.yearMonth(), '2030-11')
  assert.equal(expiry.lastDay(), '2030-11-30')
  assert.equal(makeExpiry(2028, 2).lastDay(), '2028-02-29')
  assert.equal(makeExpiry(2100, 2).lastDay(), '2100-02-28')
})

test('a card is valid to the last millisecond of its last day, and no longer', () => {
  const expiry = makeExpiry(2030, 12)
  assert.equal(expiry.isPast(new Date('2030-12-31T23:59:59.999Z')), false)
  assert.equal(expiry.isPast(new Date('2031-01-01T00:00:00Z')), true)
  assert.deepEqual(expiry.endsAt(), new Date('2031-01-01T00:00:00Z'))
})

test('every month comes back from each of its spellings', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 0, max: 9999 }),
      fc.integer({ min: 1, max: 12 }),
      (year, month) => {
        const expiry = makeExpiry(year, month)
        assert.deepEqual(parseExpiry(expiry.yearMonth()), expiry)
        assert.deepEqual(expiryOfDate(expiry.lastDay()), expiry)
      },
    ),
  )
})

test('what is not a month is not an expiry', () => {
  const texts = ['', '2030', '2030-13', '2030-00', '2030-1', '30-11', '2030-11-30', ' 2030-11']
  for (const text of texts) assert.equal(parseExpiry(text), null)
  assert.throws(() => makeExpiry(2030, 13), { name: 'RangeError', message: 'not a month' })
  assert.equal(makeExpiry(0, 11).yearMonth(), '0000-11')
  assert.equal(makeExpiry(9999, 12).yearMonth(), '9999-12')
  for (const year of [-1, 10_000, 2030.5, Number.NaN]) {
    assert.throws(() => makeExpiry(year, 11), RangeError)
  }
  assert.throws(() => makeExpiry(2030, 1.5), RangeError)
  assert.throws(() => expiryOfDate('tomorrow'), RangeError)
})

test('a validity in months ends in that month, whatever the day it starts on', () => {
  assert.equal(expiryMonthsAfter('2026-11-20', 48).lastDay(), '2030-11-30')
  assert.equal(expiryMonthsAfter('2026-12-31', 2).lastDay(), '2027-02-28')
  assert.equal(expiryMonthsAfter('2026-01-31', 11).lastDay(), '2026-12-31')
  assert.equal(expiryMonthsAfter('2026-01-31', 12).lastDay(), '2027-01-31')
})

test('a wanted expiry lies in the future and within the validity of the product', () => {
  const fault = (text: string, today = '2026-11-20') => expiryFault(expiryOfDate(text), today, 48)
  assert.match(fault('2026-10-01') ?? '', /future/)
  assert.match(fault('2026-11-01', '2026-11-30') ?? '', /future/)
  assert.equal(fault('2026-11-01'), null)
  assert.equal(fault('2030-11-01'), null)
  assert.match(fault('2030-12-01') ?? '', /2030-11/)
})
