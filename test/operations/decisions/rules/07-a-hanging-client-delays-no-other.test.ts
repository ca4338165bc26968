import assert from 'node:assert/strict'
import { test } from 'node:test'
import { approve, hang, openDecisionEndpoint } from '../../../support/decision-endpoint.ts'
import { until } from '../../../support/until.ts'
import { openAsker } from '../asking.ts'
import { heldAnswer } from '../deciding.ts'

test('beyond maxInFlight the fallback counts at once, and the endpoint gets no more', async () => {
  const held = heldAnswer()
  const endpoint = await openDecisionEndpoint(held.behaviour)
  const { ask, asker } = openAsker()
  const settings = { timeoutMs: 60_000, maxInFlight: 5 }
  const running = Array.from({ length: 5 }, () => ask(endpoint.url, settings))
  const beyond = await Promise.all(Array.from({ length: 50 }, () => ask(endpoint.url, settings)))
  assert.ok(beyond.every(({ error }) => error === 'too_many_in_flight'))
  assert.equal(asker.load().inFlight, 5, 'the first five still hang')
  held.release()
  await Promise.all(running)
  assert.equal(endpoint.received.length, 5)
})

test('maxInFlight counts requests on streams, too, and they are observed like others', async () => {
  const { ask, asked, asker } = openAsker()
  const settings = { timeoutMs: 300, maxInFlight: 5 }
  const running = Array.from({ length: 5 }, () => ask(null, settings))
  assert.equal(asker.load().inFlight, 5)
  const beyond = await ask(null, settings)
  assert.deepEqual([beyond.error, beyond.requestHash], ['too_many_in_flight', null])
  assert.deepEqual(
    asked.map(({ outcome }) => outcome.error),
    ['too_many_in_flight'],
  )
  await Promise.all(running)
  assert.equal(asker.load().inFlight, 0)
  assert.equal(asked.length, 6)
})

test('a thousand requests that hang at one client leave the requests of another alone', async () => {
  const held = heldAnswer()
  const hanging = await openDecisionEndpoint(held.behaviour)
  const answering = await openDecisionEndpoint(approve)
  const { ask, asker } = openAsker()
  const askOthers = async () => {
    const durations: number[] = []
    for (let turn = 0; turn < 100; turn += 1) {
      const { answer, durationMs } = await ask(answering.url, { clientId: 'answering' })
      assert.equal(answer?.decision, 'approve')
      durations.push(durationMs)
    }
    return durations.toSorted((a, b) => a - b)[50] ?? 0
  }
  const aloneMs = await askOthers()
  // Longer than a busy machine needs to send them all. They end when they are answered.
  const settings = { timeoutMs: 60_000, maxInFlight: 1_000, clientId: 'hanging' }
  const waiting = Array.from({ length: 1_000 }, () => ask(hanging.url, settings))
  await until(() => hanging.received.length === 1_000)
  assert.equal(asker.load().inFlight, 1_000)
  const besideMs = await askOthers()
  // The others would wait for a second and more, if they waited for those that hang.
  assert.ok(besideMs < 10 * aloneMs + 500, `${besideMs} ms beside, ${aloneMs} ms alone`)
  held.release()
  const outcomes = await Promise.all(waiting)
  assert.ok(outcomes.every(({ answer }) => answer?.decision === 'approve'))
})

test('of the requests after their deadline few stay open, and none for long', async () => {
  const endpoint = await openDecisionEndpoint(hang)
  const { ask, asker } = openAsker()
  const settings = { timeoutMs: 1_500, maxInFlight: 1_000 }
  await Promise.all(Array.from({ length: 200 }, () => ask(endpoint.url, settings)))
  await until(() => asker.load().overdue === 32)
  assert.equal(asker.load().inFlight, 0)
})
