import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findStartOfDay, startNextWindow } from '../../src/domain/spending.ts'

test('a window ends where the next one starts: the next day, Monday, the first, or never', () => {
  assert.equal(startNextWindow('day', '2028-02-28'), '2028-02-29')
  assert.equal(startNextWindow('day', '2026-12-31'), '2027-01-01')
  assert.equal(startNextWindow('week', '2026-11-29'), '2026-11-30')
  assert.equal(startNextWindow('week', '2026-11-30'), '2026-12-07')
  assert.equal(startNextWindow('month', '2026-01-31'), '2026-02-01')
  assert.equal(startNextWindow('month', '2026-12-01'), '2027-01-01')
  assert.equal(startNextWindow('lifetime', '2026-12-01'), null)
})

test('a day starts at midnight of its time zone, also where the clocks change', () => {
  for (const [day, timeZone, at] of [
    ['2026-11-30', 'UTC', '2026-11-30T00:00:00.000Z'],
    ['2026-11-30', 'Europe/Madrid', '2026-11-29T23:00:00.000Z'],
    ['2026-03-29', 'Europe/Madrid', '2026-03-28T23:00:00.000Z'],
    ['2026-03-30', 'Europe/Madrid', '2026-03-29T22:00:00.000Z'],
    ['2026-11-30', 'Pacific/Kiritimati', '2026-11-29T10:00:00.000Z'],
    ['2026-11-30', 'Pacific/Pago_Pago', '2026-11-30T11:00:00.000Z'],
    ['2026-11-30', 'Asia/Kolkata', '2026-11-29T18:30:00.000Z'],
  ] as const) {
    assert.equal(findStartOfDay(day, timeZone).toISOString(), at, timeZone)
  }
})
