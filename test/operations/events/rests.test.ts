import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createRests } from '../../../src/operations/events/rests.ts'

const forever = new AbortController().signal

test('work that finds nothing rests longer each time, and no longer than its longest rest', async () => {
  const rest = createRests().begin(() => 400)
  const beganMs = performance.now()
  for (let time = 0; time < 4; time += 1) await rest(false, forever)
  // 0.1 s by chance within 50 to 150 ms each, and 50, 125, 238, 300 ms more.
  assert.ok(performance.now() - beganMs >= 4 * 50 + 700)
})

test('a change in this process ends a rest, and makes the next one short', async () => {
  const rests = createRests(1_000_000)
  const rest = rests.begin(() => 600_000)
  const stop = AbortSignal.timeout(60_000)
  const changing = setInterval(() => rests.wake(), 50)
  for (let time = 0; time < 5; time += 1) await rest(false, stop)
  clearInterval(changing)
  assert.ok(!stop.aborted)
})

test('a stopped job does not rest', async () => {
  const rest = createRests(1_000_000).begin(() => 600_000)
  const stop = AbortSignal.timeout(500)
  for (let time = 0; time < 3; time += 1) await rest(false, stop)
  assert.ok(stop.aborted)
})

test('what found something to do looks again after a short rest, however long it rested before', async () => {
  const rest = createRests(20).begin(() => 600_000)
  await rest(false, forever)
  for (let time = 0; time < 3; time += 1) {
    const stop = AbortSignal.timeout(60_000)
    await rest(true, stop)
    assert.ok(!stop.aborted)
  }
})
