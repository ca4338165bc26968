import assert from 'node:assert/strict'
import test from 'node:test'
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
