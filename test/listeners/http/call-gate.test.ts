import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Problem } from '../../../src/domain/problem.ts'
import { createCallGate } from '../../../src/listeners/http/call-gate.ts'

const times = { waitMs: 60_000, endMs: 60_000, closedMostMs: 60_000 }

test('a closed gate holds new calls back until it is opened', async () => {
  const gate = createCallGate(times)
  assert.equal(await gate.close(true), true)
  let isIn = false
  const entering = gate.enter().then(() => {
    isIn = true
  })
  await new Promise(setImmediate)
  assert.equal(isIn, false)
  gate.open()
  await entering
  assert.equal(isIn, true)
})

test('a gate is closed when the running calls have ended, each counted once', async () => {
  const gate = createCallGate(times)
  const [leave, leaveToo] = [await gate.enter(), await gate.enter()]
  let isClosed = false
  const closing = gate.close(true).then((closed) => {
    isClosed = closed
  })
  leave()
  leave()
  await new Promise(setImmediate)
  assert.equal(isClosed, false)
  leaveToo()
  await closing
  assert.equal(isClosed, true)
})

test('where a call does not end in time, the gate is not closed, and lets calls in', async () => {
  const gate = createCallGate({ ...times, endMs: 10 })
  await gate.enter()
  const closing = gate.close(true)
  const held = gate.enter()
  assert.equal(await closing, false)
  await held
})

test('a call that is held for too long is refused, and told to retry', async () => {
  const gate = createCallGate({ ...times, waitMs: 10 })
  await gate.close(true)
  await assert.rejects(gate.enter(), (error: unknown) => {
    return error instanceof Problem && error.code === 'unavailable'
  })
})

test('a second one that closes the gate waits for the first, or is told at once', async () => {
  const gate = createCallGate(times)
  await gate.close(true)
  assert.equal(await gate.close(false), false)
  const second = gate.close(true)
  gate.open()
  assert.equal(await second, true)
})

test('a gate opens itself if the process that closed it is lost', async () => {
  const gate = createCallGate({ ...times, closedMostMs: 10 })
  await gate.close(true)
  const waits = setInterval(() => undefined, 1_000)
  await (await gate.enter())()
  clearInterval(waits)
})
