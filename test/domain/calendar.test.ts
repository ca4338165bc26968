import assert from 'node:assert/strict'
import test from 'node:test'
import fc from 'fast-check'
import {
  daysInMonth,
  expiryFault,
  expiryMonthsAfter,
  formatDate,
  isCalendarDate,
  isInstant,
  isPastDate,
  makeExpiry,
  parseExpiry,
  toExpiry,
} from '../../src/domain/calendar.ts'

test('every day that the calendar has is a date', () => {
  const days = fc.date({
    min: new Date('0001-01-01'),
    max: new Date('9999-12-31'),
    noInvalidDate: true,
  })
  fc.assert(fc.property(days, (day) => assert.ok(isCalendarDate(formatDate(day)))))
  for (const leapDay of ['2024-02-29', '2000-02-29']) assert.ok(isCalendarDate(leapDay))
})

test('days that do not exist, and other spellings, are no dates', () => {
  const texts = ['2023-02-29', '1900-02-29', '2026-04-31', '2026-00-10', '2026-13-01', '0000-01-01']
  const spellings = [
    '',
    '2026-01-00',
    '2026-1-1',
    '26-01-01',
    '2026/01/01',
    '2026-01-01T00:00',
    ' 2026-01-01',
    '٢٠٢٦-٠١-٠١',
  ]
  for (const text of [...texts, ...spellings]) assert.ok(!isCalendarDate(text), text)
})

test('a date is past from the day after it', () => {
  assert.ok(isPastDate('2026-11-19', '2026-11-20'))
  assert.ok(!isPastDate('2026-11-20', '2026-11-20'))
  assert.ok(!isPastDate('2027-01-01', '2026-11-20'))
  assert.ok(!isPastDate('1990-02-30', '2026-11-20'))
})

test('an instant is written as RFC 3339 writes it, in UTC, on a day and at a time that exist', () => {
  const instants = [
    ...['2026-11-20T08:00:00Z', '0001-01-01T00:00:00Z', '9999-12-31T23:59:59Z'],
    ...['2024-02-29T19:09:08.1Z', '2024-02-29T20:30:45.123456Z'],
  ]
  for (const text of instants) assert.equal(isInstant(text), true, text)
  const others = [
    ...['2026-11-20', '2026-11-20T08:00Z', '2026-11-20T08:00:00', '2026-11-20T08:00:00+00:00'],
    ...['2026-11-20t08:00:00z', '2026-11-20 08:00:00Z', '2026-11-20T08:00:00.Z'],
    ...['2026-11-20T08:00:00.1234567Z', '2026-11-20T08:00:00,5Z', '2026-11-20T08:00:00.xZ'],
    ...[
      '2026-11-20T24:00:00Z',
      '2026-11-20T30:00:00Z',
      '2026-11-20T08:60:00Z',
      '2026-11-20T08:00:60Z',
    ],
    ...[
      '2026-11-20T8:00:00Z',
      '2026-02-30T08:00:00Z',
      '2026-13-01T08:00:00Z',
      '26-11-20T08:00:00Z',
    ],
    ...[
      '2026-11-20 2026-11-20T08:00:00Z',
      '2026-11-20T08:00:00Zx',
      '2026-11-2T08:00:00Z',
      '2026-1-20T08:00:00Z',
    ],
    ...[
      '2026-11-20T08:00:0xZ',
      '2026-11-20T08:0x:00Z',
      '2026-11-20T0x:00:00Z',
      '2026-11-20T2x:00:00Z',
    ],
  ]
  for (const text of others) assert.equal(isInstant(text), false, text)
})

test('every month has the days of the Gregorian calendar', () => {
  const lengths = (year: number) =>
    Array.from({ length: 14 }, (_, month) => daysInMonth(year, month))
  const common = [0, 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31, 0]
  assert.deepEqual(lengths(2023), common)
  assert.deepEqual(lengths(1900), common)
  assert.deepEqual(lengths(2024), common.with(2, 29))
})

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
        assert.deepEqual(toExpiry(expiry.lastDay()), expiry)
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
  assert.throws(() => toExpiry('tomorrow'), RangeError)
})

test('a validity in months ends in that month, whatever the day it starts on', () => {
  assert.equal(expiryMonthsAfter('2026-11-20', 48).lastDay(), '2030-11-30')
  assert.equal(expiryMonthsAfter('2026-12-31', 2).lastDay(), '2027-02-28')
  assert.equal(expiryMonthsAfter('2026-01-31', 11).lastDay(), '2026-12-31')
  assert.equal(expiryMonthsAfter('2026-01-31', 12).lastDay(), '2027-01-31')
})

test('a wanted expiry lies in the future and within the validity of the product', () => {
  const fault = (text: string, today = '2026-11-20') => expiryFault(toExpiry(text), today, 48)
  assert.match(fault('2026-10-01') ?? '', /future/)
  assert.match(fault('2026-11-01', '2026-11-30') ?? '', /future/)
  assert.equal(fault('2026-11-01'), null)
  assert.equal(fault('2030-11-01'), null)
  assert.match(fault('2030-12-01') ?? '', /2030-11/)
})
