import assert from 'node:assert/strict'
import test from 'node:test'
import fc from 'fast-check'
import {
  dateOf,
  daysInMonth,
  isCalendarDate,
  isInstant,
  isPastDate,
} from '../../src/domain/calendar.ts'

test('every day that the calendar has is a date', () => {
  const days = fc.date({
    min: new Date('0001-01-01'),
    max: new Date('9999-12-31'),
    noInvalidDate: true,
  })
  fc.assert(fc.property(days, (day) => assert.ok(isCalendarDate(dateOf(day)))))
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
