import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import {
  createPinfold,
  type DecisionAnswer,
  type DecisionRequest,
  type Pinfold,
} from '../../../packages/sdk/client/client.ts'
import { verifyDecision } from '../../../packages/sdk/webhooks/webhooks.ts'
import { openServedService, type ServedService } from '../../support/served-service.ts'
import { sql } from '../../support/service.ts'
import { until } from '../../support/until.ts'

let service: ServedService
let pinfold: Pinfold
let keys: { secret: string; publicKey: string }
before(async () => {
  service = await openServedService()
  pinfold = createPinfold(service.sandbox)
  const { secret = '', signingKeys } = await pinfold.decisionEndpoint.set({ timeoutMs: 1_000 })
  keys = { secret, publicKey: signingKeys[0]?.publicKey ?? '' }
  const stream = follow(() => null)
  await until(async () => (await countStreams()) === 1)
  await pinfold.decisionEndpoint.activate()
  await stream.stop()
})

const countStreams = async () =>
  (await sql(service.database, 'select slot from client_stream')).length

/** Answers what comes on a stream, until it is stopped. */
const follow = (rule: (request: DecisionRequest) => DecisionAnswer | null) => {
  const stopping = new AbortController()
  const requests: DecisionRequest[] = []
  const run = async () => {
    for await (const { body, headers, request } of pinfold.decisions.stream({
      signal: stopping.signal,
    })) {
      assert.deepEqual(await verifyDecision(headers, body, keys.secret), request)
      assert.deepEqual(await verifyDecision(headers, body, keys.publicKey), request)
      requests.push(request)
      const answer = rule(request)
      if (answer) await pinfold.decisions.answer(request.decisionId, answer)
    }
  }
  const running = run().catch((error: unknown) => {
    if (!stopping.signal.aborted) throw error
  })
  const stop = async () => {
    stopping.abort()
    await running
  }
  return { requests, stop }
}

const pay = async (publicToken: string, amount = 1_000) =>
  pinfold.simulator.authorize({ publicToken, entryMode: 'ecommerce', amount, currency: 'EUR' })

test('a client decides by a stream, and its answer is the answer to the network', async () => {
  const { publicToken } = await service.createCard()
  const stream = follow(({ amounts }) =>
    (amounts.billing?.amount ?? 0) > 5_000
      ? { decision: 'decline', reason: 'insufficient_funds' }
      : { decision: 'approve' },
  )
  assert.equal((await pay(publicToken)).responseCode, '00')
  assert.equal((await pay(publicToken, 6_000)).responseCode, '51')
  assert.deepEqual(
    stream.requests.map(({ purpose, simulated, step }) => [purpose, simulated, step]),
    [
      ['authorize', true, 'authorization'],
      ['authorize', true, 'authorization'],
    ],
  )
  await stream.stop()
  const [last] = (await pinfold.decisions.list({ publicToken }).page()).items
  assert.deepEqual(
    [last?.decidedBy, last?.decision, last?.reason],
    ['endpoint', 'decline', 'insufficient_funds'],
  )
})

test('without a stream, and with one that does not answer, the fallback decides', async () => {
  const { publicToken } = await service.createCard()
  assert.equal((await pay(publicToken)).responseCode, '91')
  const stream = follow(() => null)
  assert.equal((await pay(publicToken)).responseCode, '91')
  await stream.stop()
  const { items } = await pinfold.decisions.list({ publicToken }).page()
  assert.deepEqual(
    items.map(({ decidedBy, error }) => [decidedBy, error]),
    [
      ['fallback:timeout', 'timeout'],
      ['fallback:error', 'no_stream'],
    ],
  )
})

test('a late answer changes nothing, and is an event', async () => {
  const { publicToken } = await service.createCard()
  const stream = follow(() => null)
  await pay(publicToken)
  const [request] = stream.requests
  await stream.stop()
  const { decisionId = '' } = request ?? {}
  await assert.rejects(pinfold.decisions.answer(decisionId, { decision: 'approve' }), {
    code: 'decision_over',
  })
  const read = await pinfold.decisions.retrieve(decisionId)
  assert.deepEqual([read.decision, read.lateAnswer], ['decline', { decision: 'approve' }])
  await until(async () => {
    const { json } = await service.call('GET', '/events?types=decision.late')
    return json.some((event: { data: object }) => JSON.stringify(event).includes(decisionId))
  })
})

test('a hostile answer is refused, and another one still counts', async () => {
  const { publicToken } = await service.createCard()
  const refusals: unknown[] = []
  const call = (path: string, options: object) => service.call('POST', path, options)
  const stream = follow(() => null)
  const paying = pay(publicToken)
  await until(() => stream.requests.length === 1)
  const path = `/decisions/${stream.requests[0]?.decisionId}/answer`
  const approve = { decision: 'approve' }
  const other = await call(path, { body: approve, as: 'otherClient' })
  assert.deepEqual([other.status, other.json.code], [404, 'not_found'])
  const wrong = await call(path, { body: { ...approve, amount: 1_001 } })
  assert.deepEqual([wrong.status, wrong.json.errors[0].pointer], [422, '/amount'])
  const huge = await call(path, { body: { ...approve, metadata: { text: 'x'.repeat(20_000) } } })
  assert.equal(huge.status, 413)
  const kept = await call(path, { body: { ...approve, unknown: 1, metadata: { order: 7 } } })
  assert.equal(kept.status, 200)
  const second = await call(path, { body: { decision: 'decline' } })
  assert.deepEqual([second.status, second.json.code], [409, 'decision_answered'])
  assert.match(second.json.detail, /first answer was approve/)
  assert.equal((await paying).responseCode, '00')
  assert.deepEqual(refusals, [])
  await stream.stop()
})

test('a body that counts by HTTP counts by a call, too', async () => {
  const { publicToken } = await service.createCard()
  const stream = follow(() => null)
  const bodies = [
    { decision: 'approve', amount: null, holdExpiresAt: null, metadata: null },
    { decision: 'approve', reason: 'no reason of the list', responseCode: 5 },
    { decision: 'decline', amount: 'none', reason: null },
  ]
  for (const [at, body] of bodies.entries()) {
    const paying = pay(publicToken)
    await until(() => stream.requests.length === at + 1)
    const path = `/decisions/${stream.requests[at]?.decisionId}/answer`
    const wrong = await service.call('POST', path, { body: { ...body, metadata: [] } })
    assert.equal(wrong.status, 422)
    const answered = await service.call('POST', path, { body })
    assert.equal(answered.status, 200, answered.text)
    assert.equal((await paying).responseCode, body.decision === 'approve' ? '00' : '05')
  }
  await stream.stop()
})

test('a past decision is asked again, says so, and changes nothing', async () => {
  const { publicToken } = await service.createCard()
  const first = follow(() => ({ decision: 'approve' }))
  await pay(publicToken)
  await first.stop()
  const [decided] = (await pinfold.decisions.list({ publicToken }).page()).items
  const second = follow(() => ({ decision: 'decline', reason: 'suspected_fraud' }))
  const { original, replay } = await pinfold.decisions.replay(decided?.decisionId ?? '')
  await second.stop()
  assert.deepEqual([original.decision, replay.decision], ['approve', 'decline'])
  assert.equal(second.requests[0]?.purpose, 'replay')
  const same = ({ card, amounts, merchant }: DecisionRequest) => ({ card, amounts, merchant })
  assert.deepEqual(same(replay.request), same(original.request))
  const payments = (await pinfold.payments.listByCard(publicToken).page()).items
  assert.deepEqual(
    payments.map(({ approved, state }) => [approved, state]),
    [[1_000, 'open']],
  )
})
