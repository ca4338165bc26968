import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { approve, hang, openDecisionEndpoint } from '../../../support/decision-endpoint.ts'
import { openAsker } from '../asking.ts'

const timeoutMs = 100

test('20 unanswered requests: nothing for 5 seconds, one probe a second, and back', async () => {
  const endpoint = await openDecisionEndpoint(hang)
  const { ask, asker, changes } = openAsker()
  const askOnce = () => ask(endpoint.url, { timeoutMs })
  await Promise.all(Array.from({ length: 19 }, askOnce))
  assert.equal(asker.load().openBreakers, 0)
  await askOnce()
  const openedMs = performance.now()
  assert.equal(asker.load().openBreakers, 1)
  assert.deepEqual(
    changes.map(({ to }) => to),
    ['degraded'],
  )

  const straight = await Promise.all(Array.from({ length: 200 }, askOnce))
  assert.ok(straight.every(({ error, requestHash }) => error === 'breaker_open' && !requestHash))
  assert.equal(endpoint.received.length, 20)

  // Asked every 50 ms, it passes on one request a second, from the fifth second on.
  while (performance.now() - openedMs < 7_500) {
    void askOnce()
    await sleep(50)
  }
  const probes = endpoint.received.slice(20).map(({ atMs }) => atMs - openedMs)
  assert.ok(probes.length >= 1 && probes.length <= 3, probes.join())
  assert.ok((probes[0] ?? 0) > 4_850, probes.join())
  for (const [at, probe] of probes.entries()) {
    if (at > 0) assert.ok(probe - (probes[at - 1] ?? 0) > 950, probes.join())
  }

  endpoint.answer = approve
  let outcome = await askOnce()
  while (outcome.answer === null) {
    await sleep(50)
    outcome = await askOnce()
  }
  assert.deepEqual(
    changes.map(({ to }) => to),
    ['degraded', 'answering'],
  )
  assert.equal(asker.load().openBreakers, 0)
  assert.equal((await askOnce()).answer?.decision, 'approve')
})

test('the breaker of one endpoint is not that of another, nor that of its shadow version', async () => {
  const hanging = await openDecisionEndpoint(hang)
  const answering = await openDecisionEndpoint(approve)
  const { ask } = openAsker()
  const settings = { timeoutMs, clientId: 'hanging' }
  await Promise.all(Array.from({ length: 20 }, () => ask(hanging.url, settings)))
  assert.equal((await ask(hanging.url, settings)).error, 'breaker_open')
  for (const other of [
    { ...settings, clientId: 'other' },
    { ...settings, productId: 1001 },
    { ...settings, version: 4 },
    { ...settings, purpose: 'shadow' as const },
  ]) {
    assert.equal((await ask(answering.url, other)).answer?.decision, 'approve')
  }
})

test('an endpoint that answers uselessly answers; a gateway in front of nobody does not', async () => {
  const useless = await openDecisionEndpoint(() => ({ decision: 'perhaps' }))
  const { ask } = openAsker()
  const settings = { timeoutMs: 1_000 }
  for (let turn = 0; turn < 30; turn += 1) await ask(useless.url, { ...settings, version: 1 })
  assert.equal((await ask(useless.url, { ...settings, version: 1 })).error, 'bad_body')
  useless.answer = () => 503
  for (let turn = 0; turn < 20; turn += 1) await ask(useless.url, { ...settings, version: 2 })
  assert.equal((await ask(useless.url, { ...settings, version: 2 })).error, 'breaker_open')
})
