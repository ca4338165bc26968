import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { after, type DecisionBehaviour, text, trickle } from '../../../support/decision-endpoint.ts'
import { issueCard } from '../../../support/network.ts'
import { sql, type TestService } from '../../../support/service.ts'
import { until } from '../../../support/until.ts'
import { onEachEngine } from '../../authorizations/engines.ts'
import { eventsOf } from '../../authorizations/tried.ts'
import { buy, type Deciding, letClientDecide, outcomesOf, purchaseOf } from '../deciding.ts'

const timeoutMs = 500

onEachEngine((engine) => {
  let service: TestService
  let deciding: Deciding
  before(async () => {
    const { services } = await engine.open()
    service = services[0]
    deciding = await letClientDecide(service, { timeoutMs })
  })

  const lateEvents = async (publicToken: string) =>
    (await eventsOf(service.database, publicToken))
      .filter(({ type }) => type === 'decision.late')
      .map(({ details }) => JSON.parse(String(details)))

  const findRow = async (publicToken: string) => {
    const [row] = await sql<{ late: string | null; verdict: string; decidedBy: string }>(
      service.database,
      `select late_answer as late, verdict, decided_by as "decidedBy"
       from decision where public_token = $1`,
      [publicToken],
    )
    return row
  }

  const said = { decision: 'approve', amount: 400, metadata: { ledger: 'closed' } }
  const behaviours: readonly (readonly [what: string, behaviour: DecisionBehaviour])[] = [
    ['that begins after the deadline', after(timeoutMs + 150, () => said)],
    ['that only ends after the deadline', trickle(20, JSON.stringify(said))],
  ]
  for (const [what, behaviour] of behaviours) {
    test(`an approval ${what} approves nothing, and is reported once`, async () => {
      const card = await issueCard(service)
      deciding.answerBy(behaviour)
      const members = purchaseOf(1_000, { partialAllowed: true })
      const answer = await buy(service, card, members)
      assert.equal(answer.json.responseCode, '91')
      await until(async () => (await lateEvents(card.publicToken)).length > 0)
      const [outcome] = await outcomesOf(service, card)
      assert.equal(outcome?.type, 'authorization.declined')
      const [event, ...more] = await lateEvents(card.publicToken)
      assert.deepEqual(more, [])
      assert.equal(event.decisionId, outcome?.details.decisionId)
      assert.equal(event.authorizationId, outcome?.details.authorizationId)
      assert.deepEqual([event.decision, event.amount], ['approve', 400])
      assert.ok(event.lateMs > 0 && event.lateMs < 60_000, `${event.lateMs} ms`)
      const row = await findRow(card.publicToken)
      assert.deepEqual([row?.verdict, row?.decidedBy], ['decline', 'fallback:timeout'])
      assert.equal(JSON.parse(row?.late ?? '{}').metadata, '{"ledger":"closed"}')
      const payments = await sql(
        service.database,
        'select payment_id from payment where public_token = $1',
        [card.publicToken],
      )
      assert.deepEqual(payments, [])
    })
  }

  test('what comes late and is no answer is not reported', async () => {
    const card = await issueCard(service)
    let isSent = false
    deciding.answerBy(async (received, response) => {
      const late = await after(timeoutMs + 100, text('no answer'))(received, response)
      isSent = true
      return late
    })
    assert.equal((await buy(service, card, purchaseOf(1_000))).json.responseCode, '91')
    await until(() => isSent)
    await new Promise((resolve) => setTimeout(resolve, 200))
    assert.deepEqual(await lateEvents(card.publicToken), [])
  })
})
