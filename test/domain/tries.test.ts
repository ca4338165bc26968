import assert from 'node:assert/strict'
import test from 'node:test'
import fc from 'fast-check'
import { remainingTries, tryStatus } from '../../src/domain/tries.ts'

const fresh = { limit: 3, spent: 0, restored: 0, blockedByClient: false }

test('a try spent counts until it is given back', () => {
  assert.equal(remainingTries(fresh), 3)
  assert.equal(remainingTries({ ...fresh, spent: 2 }), 1)
  assert.equal(remainingTries({ ...fresh, spent: 7, restored: 7 }), 3)
  assert.equal(remainingTries({ ...fresh, spent: 7, restored: 5 }), 1)
})

test('a status says why nothing can be tried', () => {
  assert.deepEqual(tryStatus('cvv', fresh), {
    status: 'Unblocked',
    description: 'The CVV can be used.',
    remainingTries: 3,
  })
  assert.match(tryStatus('pin', { ...fresh, spent: 3 }).description, /PIN.*tries used up/)
  assert.match(
    tryStatus('pin', { ...fresh, blockedByClient: true }).description,
    /PIN.*blocked by the client/,
  )
})

test('Blocked stands exactly where no try remains, and tries stay between 0 and the limit', () => {
  const counters = fc.record({
    limit: fc.integer({ min: 1, max: 15 }),
    spent: fc.nat(40),
    restored: fc.nat(40),
    blockedByClient: fc.boolean(),
  })
  fc.assert(
    fc.property(counters, (drawn) => {
      const valid = { ...drawn, restored: Math.min(drawn.restored, drawn.spent) }
      const { status, remainingTries: remaining } = tryStatus('pin', valid)
      assert.equal(status === 'Blocked', remaining === 0)
      assert.ok(remaining >= 0 && remaining <= valid.limit)
      assert.ok(!valid.blockedByClient || remaining === 0)
    }),
  )
})
