import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { test } from 'node:test'
import { hang, isDecisionSigned, openDecisionEndpoint } from '../../support/decision-endpoint.ts'
import { until } from '../../support/until.ts'
import { openAsker, secret } from './asking.ts'

test('a request is signed, and says its deadline, its version, its trace and its sandbox', async () => {
  const endpoint = await openDecisionEndpoint()
  const decisionId = '0193b1a0-0000-7000-8000-000000000002'
  const outcome = await openAsker().ask(endpoint.url, { decisionId })
  const [received] = endpoint.received
  assert.ok(received)
  assert.ok(isDecisionSigned(secret, received))
  const { headers } = received
  assert.equal(headers['webhook-id'], decisionId)
  assert.equal(headers['decision-deadline'], received.body.deadline)
  assert.match(String(headers['decision-deadline']), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
  assert.equal(headers['api-version'], '2026-11-20')
  assert.equal(headers.traceparent, '00-0193b1a0000070008000000000000001-8000000000000002-01')
  assert.equal(headers.sandbox, 'true')
  assert.equal(headers['decision-attempt'], '1')
  assert.equal(headers['content-type'], 'application/json')
  assert.deepEqual(outcome.requestHash, hash('sha256', received.bytes, 'buffer'))
  assert.deepEqual(outcome.answerHash, hash('sha256', '{"decision":"approve"}', 'buffer'))
  assert.equal(outcome.statusCode, 200)
  assert.equal(outcome.answer?.decision, 'approve')
})

test('a request outside a sandbox does not say that it is one, and needs https', async () => {
  const endpoint = await openDecisionEndpoint()
  await openAsker({}, false).ask(endpoint.url)
  assert.equal('sandbox' in (endpoint.received[0]?.headers ?? {}), false)
  const refused = await openAsker({ httpsOnly: true }).ask(endpoint.url)
  assert.equal(refused.error, 'target_refused')
  assert.equal(endpoint.received.length, 1)
})

test('an endpoint in the format thredd-ehi is asked and understood in it', async () => {
  const endpoint = await openDecisionEndpoint(({ body }) => ({
    Acknowledgement: '1',
    Responsestatus: body.Bill_Amt === -12.5 ? '51' : '00',
  }))
  const { answer } = await openAsker().ask(endpoint.url, { format: 'thredd-ehi' })
  assert.deepEqual([answer?.decision, answer?.reason], ['decline', 'insufficient_funds'])
})

test('connections are kept and used again', async () => {
  const endpoint = await openDecisionEndpoint()
  const { ask } = openAsker()
  for (let turn = 0; turn < 20; turn += 1) await ask(endpoint.url)
  assert.equal(endpoint.received.length, 20)
  assert.equal(endpoint.connections(), 1)
})

test('a request that cannot be composed is an error as any other, and its cause is known', async () => {
  const endpoint = await openDecisionEndpoint()
  const { ask, faults } = openAsker()
  const outcome = await ask(endpoint.url, { timeoutMs: Number.NaN })
  assert.deepEqual([outcome.error, outcome.requestHash], ['signing_failed', null])
  assert.deepEqual(
    faults.map((fault) => fault instanceof RangeError),
    [true],
  )
  assert.equal(endpoint.received.length, 0)
})

test('a request whose time is over is not sent', async () => {
  const endpoint = await openDecisionEndpoint()
  const outcome = await openAsker().ask(endpoint.url, { timeoutMs: 0 })
  assert.deepEqual([outcome.error, outcome.answer, outcome.requestHash], [null, null, null])
  assert.equal(endpoint.received.length, 0)
})

test('nothing is in flight after its answer, or after everything is aborted', async () => {
  const endpoint = await openDecisionEndpoint()
  const { ask, asker } = openAsker()
  await Promise.all(Array.from({ length: 10 }, () => ask(endpoint.url)))
  assert.deepEqual(asker.load(), { inFlight: 0, overdue: 0, openBreakers: 0 })
  endpoint.answer = () => undefined
  const hanging = ask(endpoint.url, { timeoutMs: 2_500 })
  await until(() => endpoint.received.length === 11)
  assert.equal(asker.load().inFlight, 1)
  asker.close()
  assert.equal((await hanging).error, 'connection_failed')
  assert.equal(asker.load().inFlight, 0)
})

test('an answer by a call ends the request by HTTP, frees its place and counts as answered', async () => {
  const answer = {
    decision: 'approve',
    amount: null,
    reason: null,
    responseCode: null,
    holdExpiresAt: null,
    metadata: null,
  } as const
  let closed = 0
  const endpoint = await openDecisionEndpoint((received, response) => {
    response.once('close', () => {
      closed += 1
    })
    return hang(received, response)
  })
  const { ask, asked, asker, changes } = openAsker()
  for (let turn = 1; turn <= 25; turn += 1) {
    const called = until(() => endpoint.received.length === turn).then(() => ({
      answer,
      answerHash: hash('sha256', 'called', 'buffer'),
    }))
    const outcome = await ask(endpoint.url, { called, maxInFlight: 1, timeoutMs: 2_500 })
    assert.deepEqual([outcome.answer?.decision, outcome.error], ['approve', null])
  }
  assert.equal(endpoint.received.length, 25)
  assert.deepEqual(asker.load(), { inFlight: 0, overdue: 0, openBreakers: 0 })
  assert.deepEqual(
    changes.map(({ to }) => to),
    ['answering'],
  )
  assert.ok(asked.every(({ outcome }) => outcome.answer?.decision === 'approve'))
  await until(() => closed === 25)
})

test('a request that cannot be signed tells its cause, and nothing about the endpoint', async () => {
  const endpoint = await openDecisionEndpoint(hang)
  let isSigned = true
  let nowMs = 0
  const cause = new Error('The HSM is not reachable.')
  const unsigned: string[] = []
  const sign = async (_clientId: string, id: string) => {
    if (isSigned) return { 'webhook-id': id }
    unsigned.push(id)
    throw cause
  }
  const { ask, asker, changes, faults } = openAsker({}, true, sign, () => nowMs)
  const settings = { timeoutMs: 1_000 }
  await Promise.all(Array.from({ length: 20 }, () => ask(endpoint.url, settings)))
  assert.equal(asker.load().openBreakers, 1)
  isSigned = false
  nowMs = 5_000
  assert.equal((await ask(endpoint.url, settings)).error, 'signing_failed')
  assert.equal(asker.load().openBreakers, 1, 'nobody answered')
  assert.equal(unsigned.length, 1)
  assert.ok(
    endpoint.received.every(({ headers }) => !unsigned.includes(`${headers['webhook-id']}`)),
  )
  assert.deepEqual(
    changes.map(({ to }) => to),
    ['degraded'],
  )
  assert.ok(faults.length === 1 && faults[0] === cause)
})
