import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import {
  type DecisionBehaviour,
  hang,
  openDecisionEndpoint,
  type ReceivedDecision,
} from '../../support/decision-endpoint.ts'
import { issueCard } from '../../support/network.ts'
import { sql, type TestService } from '../../support/service.ts'
import { until } from '../../support/until.ts'
import { onEachEngine } from '../authorizations/engines.ts'
import { eventsOf } from '../authorizations/tried.ts'
import { buy, letClientDecide, purchaseOf } from './deciding.ts'
import { answerPing, putInForce } from './endpoint-service.ts'

onEachEngine((engine) => {
  let service: TestService
  let answer: DecisionBehaviour = () => ({ decision: 'approve' })
  let putShadowInForce: () => Promise<void>
  const asked: ReceivedDecision[] = []
  before(async () => {
    const { services } = await engine.open()
    service = services[0]
    const shadow = await openDecisionEndpoint((received, response) => {
      if (received.body.type === 'decision.ping') return answerPing(received)
      asked.push(received)
      return answer(received, response)
    })
    putShadowInForce = async () => {
      await putInForce(service, { url: shadow.url, mode: 'shadow', timeoutMs: 2_500 })
    }
    await putShadowInForce()
  })

  const listRows = (publicToken: string) =>
    sql<{
      purpose: string
      verdict: string | null
      reason: string | null
      decidedBy: string | null
      error: string | null
      authorizationId: string
      isConcluded: boolean
    }>(
      service.database,
      `select purpose, verdict, reason, decided_by as "decidedBy", error,
         authorization_id::text as "authorizationId", concluded_at is not null as "isConcluded"
       from decision where public_token = $1 order by sequence`,
      [publicToken],
    )

  const untilRecorded = async (publicToken: string, count: number) => {
    await until(async () => {
      const rows = await listRows(publicToken)
      return rows.length === count && rows.every(({ isConcluded }) => isConcluded)
    })
    return listRows(publicToken)
  }

  test('a shadow version alone decides nothing, and its answer is recorded', async () => {
    const card = await issueCard(service)
    answer = () => ({ decision: 'decline', reason: 'suspected_fraud' })
    const answered = await buy(service, card, purchaseOf(1_000))
    assert.equal(answered.json.responseCode, '00')
    const [row] = await untilRecorded(card.publicToken, 1)
    assert.deepEqual(
      [row?.purpose, row?.verdict, row?.reason, row?.decidedBy],
      ['shadow', 'decline', 'suspected_fraud', 'endpoint'],
    )
    const request = asked.at(-1)
    assert.equal(request?.body.purpose, 'shadow')
    assert.deepEqual(request?.body.amounts.hold, { amount: 1_000, currency: 'EUR' })
    const types = (await eventsOf(service.database, card.publicToken)).map(({ type }) => type)
    assert.ok(types.includes('authorization.approved'))
    assert.ok(!types.some((type) => type.startsWith('decision')))
  })

  test('what is declined before is not asked of a shadow version either', async () => {
    const card = await issueCard(service)
    const before = asked.length
    const answered = await buy(service, card, purchaseOf(1_000, { expiryDate: '2099-12' }))
    assert.equal(answered.json.approved, false)
    await new Promise((resolve) => setTimeout(resolve, 100))
    assert.equal(asked.length, before)
    assert.deepEqual(await listRows(card.publicToken), [])
  })

  test('beside an enforced version it is asked the same, after the network has its answer', async () => {
    const deciding = await letClientDecide(service)
    // The activation of an enforced version ends the shadow version.
    await putShadowInForce()
    deciding.answerBy(() => ({ decision: 'approve' }))
    const card = await issueCard(service)
    answer = () => ({ decision: 'decline' })
    assert.equal((await buy(service, card, purchaseOf(2_000))).json.responseCode, '00')
    const [decided, shadowed] = await untilRecorded(card.publicToken, 2)
    assert.deepEqual(
      [decided?.purpose, decided?.verdict, shadowed?.purpose, shadowed?.verdict],
      ['authorize', 'approve', 'shadow', 'decline'],
    )
    assert.equal(shadowed?.authorizationId, decided?.authorizationId)
    const [first, second] = [deciding.asked.at(-1)?.body, asked.at(-1)?.body]
    const { deadline: _d, decisionId: _i, purpose: _p, sequence: _s, ...facts } = first
    const { deadline, decisionId, purpose, sequence, ...same } = second
    assert.deepEqual(same, facts)
    assert.deepEqual([purpose, sequence], ['shadow', first.sequence + 1])
    assert.notEqual(decisionId, first.decisionId)
    assert.ok(deadline)
  })

  test('a shadow version that hangs delays no authorization', async () => {
    const card = await issueCard(service)
    answer = hang
    assert.equal((await buy(service, card, purchaseOf(500))).json.responseCode, '00')
    assert.equal((await buy(service, card, purchaseOf(500))).json.responseCode, '00')
    const meanwhile = (await listRows(card.publicToken)).filter(
      ({ isConcluded, purpose }) => purpose === 'shadow' && isConcluded,
    )
    assert.deepEqual(meanwhile, [], 'both still hang')
    const rows = await untilRecorded(card.publicToken, 4)
    const shadows = rows.filter(({ purpose }) => purpose === 'shadow')
    assert.deepEqual(
      shadows.map(({ error, verdict }) => [error, verdict]),
      [
        [null, null],
        [null, null],
      ],
    )
  })

  test('the metrics compare what it said with what was answered', async () => {
    const metrics = await service.call('GET', '//metrics', { listener: 'private', as: 'admin' })
    assert.match(metrics.text, /^pinfold_decision_shadows_total\{result="other"\} [1-9]/m)
    assert.match(metrics.text, /^pinfold_decision_shadows_total\{result="unanswered"\} [1-9]/m)
    assert.match(
      metrics.text,
      /^pinfold_decisions_total\{decided_by="endpoint",error="none"\} [1-9]/m,
    )
    assert.match(
      metrics.text,
      /^pinfold_decision_requests_total\{purpose="shadow",outcome="decline"\} /m,
    )
  })
})
