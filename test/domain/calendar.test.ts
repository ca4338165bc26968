import assert from 'node:assert/strict'
import test from 'node:test'
import fc from 'fast-check'
import { dateOf, isCalendarDate, isPastDate } from '../../src/domain/calendar.ts'

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
