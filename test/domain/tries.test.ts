import assert from 'node:assert/strict'
import test from 'node:test'
import fc from 'fast-check'
import { makeExpiry } from '../../src/domain/calendar.ts'
import {
  allowedMoves,
  cardStatusCodes,
  describeCardStatus,
  isCardStatusCode,
  isFinal,
  mayMove,
  statusAt,
} from '../../src/domain/card-status.ts'
import { remainingTries, tryStatus } from '../../src/domain/tries.ts'

const fresh = { limit: 3, spent: 0, restored: 0, isWithdrawn: false }

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
  const withdrawn = { ...fresh, isWithdrawn: true }
  assert.match(tryStatus('cvv', withdrawn).description, /CVV is blocked by the client/)
  assert.match(
    tryStatus('pin', withdrawn).description,
    /PIN.*moved to the card that took the place/,
  )
})

test('Blocked stands exactly where no try remains, and tries stay between 0 and the limit', () => {
  const counters = fc.record({
    limit: fc.integer({ min: 1, max: 15 }),
    spent: fc.nat(40),
    restored: fc.nat(40),
    isWithdrawn: fc.boolean(),
  })
  fc.assert(
    fc.property(counters, (drawn) => {
      const valid = { ...drawn, restored: Math.min(drawn.restored, drawn.spent) }
      const { status, remainingTries: remaining } = tryStatus('pin', valid)
      assert.equal(status === 'Blocked', remaining === 0)
      assert.ok(remaining >= 0 && remaining <= valid.limit)
      assert.ok(!valid.isWithdrawn || remaining === 0)
    }),
  )
})

const expiry = makeExpiry(2030, 11)
const before = new Date('2030-11-30T23:59:59.999Z')
const after = new Date('2030-12-01T00:00:00Z')

test('a status is told by its name, code and description', () => {
  assert.deepEqual(describeCardStatus('00'), {
    status: 'Active',
    cardStatusCode: '00',
    cardStatusDescription: 'Active',
  })
  assert.equal(describeCardStatus('62').status, 'Restricted')
})

test('a card moves only where the table says', () => {
  assert.deepEqual(allowedMoves('02'), ['00', '41', '43', '46', '83'])
  assert.deepEqual(allowedMoves('00'), ['62', '41', '43', '46', '83'])
  assert.deepEqual(allowedMoves('62'), ['00', '41', '43', '46', '83'])
  assert.ok(mayMove('02', '00'))
  assert.ok(mayMove('00', '62'))
  assert.ok(!mayMove('02', '62'))
  assert.ok(!mayMove('00', '02'))
})

test('nothing moves to Expired, to Inactive or to itself', () => {
  for (const from of cardStatusCodes) {
    for (const to of ['54', '02', from] as const) assert.ok(!mayMove(from, to))
  }
})

test('lost, stolen, closed, expired and destroyed are final, and nothing else is', () => {
  assert.deepEqual(cardStatusCodes.filter(isFinal), ['41', '43', '46', '54', '83'])
  assert.deepEqual(
    cardStatusCodes.filter((code) => !isFinal(code)),
    ['00', '02', '62'],
  )
})

test('a card expires at midnight UTC after its last day, unless it has ended before', () => {
  for (const code of ['02', '00', '62'] as const) {
    assert.equal(statusAt(code, expiry, before), code)
    assert.equal(statusAt(code, expiry, after), '54')
  }
  for (const code of ['41', '43', '46', '54', '83'] as const) {
    assert.equal(statusAt(code, expiry, after), code)
  }
})

test('only the eight codes are codes, not the names that every object has', () => {
  for (const text of ['', '0', '05', 'Active', 'toString', '__proto__']) {
    assert.ok(!isCardStatusCode(text))
  }
  assert.deepEqual(cardStatusCodes, ['00', '02', '41', '43', '46', '54', '62', '83'])
})
