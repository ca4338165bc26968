import assert from 'node:assert/strict'
import { before, suite, test } from 'node:test'
import {
  openDecisionEndpoint,
  type TestDecisionEndpoint,
} from '../../../support/decision-endpoint.ts'
import { databaseEngines } from '../../../support/engines.ts'
import { openTestService, sql, type TestService } from '../../../support/service.ts'
import { answerPing, putInForce, setEndpoint } from '../endpoint-service.ts'

for (const { name, open, skip } of databaseEngines) {
  suite(`rule 10 on ${name}`, { skip }, () => {
    let service: TestService
    let endpoint: TestDecisionEndpoint
    let decisionId: string
    before(async () => {
      service = await openTestService({ database: await open() })
      endpoint = await openDecisionEndpoint(answerPing)
      await putInForce(service, { url: endpoint.url })
      const { publicToken } = await service.createCard()
      const body = { publicToken, entryMode: 'ecommerce', amount: 1_000, currency: 'EUR' }
      await service.call('POST', '/simulator/authorizations', { body })
      const [decided] = (await service.call('GET', '/decisions')).json
      decisionId = decided.decisionId
    })

    const replay = (query = '', as: 'client' | 'otherClient' = 'client') =>
      service.call('POST', `/decisions/${decisionId}/replay${query}`, { as })

    test('a simulated request says so', () => {
      assert.equal(endpoint.received.at(-1)?.body.simulated, true)
    })

    test('a past decision is asked again with its facts, and nothing changes', async () => {
      const state = `select (select count(*) from event)::integer as events,
        (select approved from payment)::integer as approved,
        (select verdict from decision where decision_id = '${decisionId}') as verdict`
      const stateBefore = await sql(service.database, state)
      const before = endpoint.received.at(-1)?.body
      endpoint.answer = () => ({ decision: 'decline', reason: 'suspected_fraud' })
      const { json } = await replay()
      assert.deepEqual([json.original.decision, json.replay.decision], ['approve', 'decline'])
      const asked = endpoint.received.at(-1)?.body
      assert.equal(asked.purpose, 'replay')
      assert.notEqual(asked.decisionId, decisionId)
      for (const member of ['card', 'amounts', 'merchant', 'network', 'authorizationId']) {
        assert.deepEqual(asked[member], before[member], member)
      }
      assert.deepEqual(await sql(service.database, state), stateBefore)
    })

    test('a version that is not in force can be tried', async () => {
      const draft = await openDecisionEndpoint(() => ({ decision: 'challenge' }))
      await setEndpoint(service, { url: draft.url })
      const { json } = await replay('?version=2')
      assert.deepEqual([json.replay.decision, json.replay.endpoint], ['challenge', { version: 2 }])
      assert.equal((await replay('?version=9')).status, 404)
    })

    test("another client's decision is not asked again", async () => {
      assert.equal((await replay('', 'otherClient')).status, 404)
    })
  })
}
