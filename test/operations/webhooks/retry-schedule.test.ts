import assert from 'node:assert/strict'
import { test } from 'node:test'
import { backOffSeconds, isGivenUp } from '../../../src/operations/webhooks/retry-schedule.ts'

test('waits between retries double from 1 s to 6 h, each 20 % more or less, and end after three days', () => {
  const hours6 = 6 * 3_600
  for (const [failures, seconds] of [
    [1, 1],
    [2, 2],
    [3, 4],
    [4, 8],
    [15, 16_384],
    [16, hours6],
    [40, hours6],
  ] as const) {
    assert.equal(backOffSeconds(failures, 0.5), seconds)
    assert.ok(Math.abs(backOffSeconds(failures, 0) - seconds * 0.8) < 1e-6)
    assert.ok(Math.abs(backOffSeconds(failures, 1) - seconds * 1.2) < 1e-6)
  }
  const first = new Date('2026-11-20T08:00:00Z')
  const long = new Date('2026-01-01T00:00:00Z')
  assert.ok(!isGivenUp(null, long, first))
  assert.ok(!isGivenUp(first, long, new Date('2026-11-23T07:59:59Z')))
  assert.ok(isGivenUp(first, long, new Date('2026-11-23T08:00:00Z')))
  const moved = new Date('2026-11-20T08:00:01Z')
  assert.ok(!isGivenUp(first, moved, new Date('2026-11-23T08:00:00Z')), 'a new address')
})
