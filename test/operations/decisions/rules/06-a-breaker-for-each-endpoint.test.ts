import assert from 'node:assert/strict'
import { test } from 'node:test'
import { approve, hang, openDecisionEndpoint } from '../../../support/decision-endpoint.ts'
import { openAsker } from '../asking.ts'

/** A request that could not be sent in this time tells nothing about its endpoint. */
const timeoutMs = 1_000

/** An asker whose breakers have a clock that a test sets. */
const openClocked = () => {
  const clock = { nowMs: 0 }
  const side = openAsker({}, true, undefined, () => clock.nowMs)
  return { ...side, clock }
}

test('20 unanswered requests: nothing for 5 seconds, one probe a second, and back', async () => {
  const endpoint = await openDecisionEndpoint(hang)
  const { ask, asker, changes, clock } = openClocked()
  const askOnce = () => ask(endpoint.url, { timeoutMs })
  const askMany = (count: number) => Promise.all(Array.from({ length: count }, askOnce))
  await askMany(19)
  assert.equal(asker.load().openBreakers, 0)
  await askOnce()
  assert.equal(asker.load().openBreakers, 1)
  assert.deepEqual(
    changes.map(({ to }) => to),
    ['degraded'],
  )

  const straight = await askMany(90)
  assert.ok(straight.every(({ error, requestHash }) => error === 'breaker_open' && !requestHash))
  assert.equal(endpoint.received.length, 20)

  for (const [nowMs, received] of [
    [4_999, 20],
    [5_000, 21],
    [5_999, 21],
    [6_000, 22],
    [7_000, 23],
  ] as const) {
    clock.nowMs = nowMs
    await askMany(10)
    assert.equal(endpoint.received.length, received, `after ${nowMs} ms`)
  }

  endpoint.answer = approve
  clock.nowMs = 8_000
  assert.equal((await ask(endpoint.url)).answer?.decision, 'approve')
  assert.deepEqual(
    changes.map(({ to }) => to),
    ['degraded', 'answering'],
  )
  assert.equal(asker.load().openBreakers, 0)
  assert.equal((await ask(endpoint.url)).answer?.decision, 'approve')
})

test('breakers of shadow versions, and of versions that nobody asks any more, do not count', async () => {
  const endpoint = await openDecisionEndpoint(hang)
  const { ask, asker, clock } = openClocked()
  const askMany = (members: object) =>
    Promise.all(Array.from({ length: 20 }, () => ask(endpoint.url, { timeoutMs, ...members })))
  await askMany({ purpose: 'shadow' })
  assert.equal(asker.load().openBreakers, 0)
  await askMany({ version: 1 })
  assert.equal(asker.load().openBreakers, 1)
  clock.nowMs = 60_001
  assert.equal(asker.load().openBreakers, 0)
  await ask(endpoint.url, { timeoutMs, version: 1 })
  assert.equal(asker.load().openBreakers, 1)
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

test('an unusable answer of an endpoint counts as an answer, one of its gateway does not', async () => {
  const useless = await openDecisionEndpoint(() => ({ decision: 'perhaps' }))
  const { ask } = openAsker()
  const settings = { timeoutMs: 1_000 }
  for (let turn = 0; turn < 30; turn += 1) await ask(useless.url, { ...settings, version: 1 })
  assert.equal((await ask(useless.url, { ...settings, version: 1 })).error, 'bad_body')
  useless.answer = () => 503
  for (let turn = 0; turn < 20; turn += 1) await ask(useless.url, { ...settings, version: 2 })
  assert.equal((await ask(useless.url, { ...settings, version: 2 })).error, 'breaker_open')
})
