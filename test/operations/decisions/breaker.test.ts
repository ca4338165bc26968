import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createBreaker } from '../../../src/operations/decisions/breaker.ts'

const startBreaker = () => {
  let nowMs = 0
  const breaker = createBreaker(() => nowMs)
  const send = (isAnswered: boolean) => {
    const admitted = breaker.admit()
    assert.ok(admitted, 'it is admitted')
    return breaker.settle(admitted, isAnswered)
  }
  return {
    breaker,
    send,
    wait: (milliseconds: number) => {
      nowMs += milliseconds
    },
  }
}

test('a breaker opens at 20 of the last 50, in any order, and not at 19', () => {
  const { breaker, send } = startBreaker()
  for (let turn = 0; turn < 500; turn += 1) {
    // 19 of each 50.
    send((turn * 19) % 50 >= 19)
    assert.equal(breaker.isOpen(), false, `${turn}`)
  }
  const other = startBreaker()
  for (let turn = 0; turn < 30; turn += 1) other.send(true)
  for (let turn = 0; turn < 19; turn += 1) assert.equal(other.send(false), null)
  assert.deepEqual(other.send(false), { to: 'degraded', unanswered: 20 })
  assert.equal(other.breaker.isOpen(), true)
})

test('an open breaker admits nothing for 5 seconds, then one probe a second', () => {
  const { breaker, send, wait } = startBreaker()
  for (let turn = 0; turn < 20; turn += 1) send(false)
  wait(4_999)
  assert.equal(breaker.admit(), null)
  wait(1)
  assert.equal(breaker.admit(), 'probe')
  assert.equal(breaker.admit(), null)
  assert.equal(breaker.settle('probe', false), null)
  wait(999)
  assert.equal(breaker.admit(), null)
  wait(1)
  assert.equal(breaker.admit(), 'probe')
  assert.deepEqual(breaker.settle('probe', true), { to: 'answering' })
  assert.equal(breaker.isOpen(), false)
  assert.equal(send(true), null)
})

test('answers to requests from before it opened do not close it', () => {
  const { breaker, send } = startBreaker()
  const before = breaker.admit()
  for (let turn = 0; turn < 20; turn += 1) send(false)
  assert.equal(before && breaker.settle(before, true), null)
  assert.equal(breaker.isOpen(), true)
})

test('the first answer of a new breaker is reported once: a lost process may have opened it', () => {
  const { send } = startBreaker()
  assert.equal(send(false), null)
  assert.deepEqual(send(true), { to: 'answering' })
  assert.equal(send(true), null)
})

test('a closed breaker has forgotten what opened it', () => {
  const { breaker, send, wait } = startBreaker()
  for (let turn = 0; turn < 20; turn += 1) send(false)
  wait(5_000)
  send(true)
  for (let turn = 0; turn < 19; turn += 1) send(false)
  assert.equal(breaker.isOpen(), false)
  assert.equal(send(false)?.to, 'degraded')
})

test('an endpoint that does not answer is confirmed every 20 seconds, and so is one that does', () => {
  const { breaker, send, wait } = startBreaker()
  for (let turn = 0; turn < 20; turn += 1) send(false)
  wait(19_999)
  assert.equal(send(false), null)
  wait(1_000)
  assert.deepEqual(send(false), { to: 'still-degraded' })
  wait(1_000)
  assert.equal(send(false), null)
  wait(1_000)
  assert.deepEqual(send(true), { to: 'answering' })
  wait(19_999)
  assert.equal(send(true), null)
  wait(1)
  assert.equal(send(false), null)
  assert.deepEqual(send(true), { to: 'still-answering' })
  assert.equal(breaker.isOpen(), false)
})
