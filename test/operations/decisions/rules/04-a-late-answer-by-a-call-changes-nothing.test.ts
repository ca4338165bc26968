import assert from 'node:assert/strict'
import { before, suite, test } from 'node:test'
import { hang, openDecisionEndpoint } from '../../../support/decision-endpoint.ts'
import { databaseEngines } from '../../../support/engines.ts'
import { openTestService, sql, type TestService } from '../../../support/service.ts'
import { answerPing, putInForce } from '../endpoint-service.ts'

for (const { name, open, skip } of databaseEngines) {
  suite(`rule 4 by a call on ${name}`, { skip }, () => {
    let service: TestService
    before(async () => {
      service = await openTestService({ database: await open() })
      const endpoint = await openDecisionEndpoint(answerPing)
      await putInForce(service, { url: endpoint.url, timeoutMs: 200 })
      endpoint.answer = hang
    })

    test('a late answer by a call changes nothing, and its first one is reported', async () => {
      const { publicToken } = await service.createCard()
      const body = { publicToken, entryMode: 'ecommerce', amount: 1_000, currency: 'EUR' }
      const authorized = await service.call('POST', '/simulator/authorizations', { body })
      assert.equal(authorized.json.responseCode, '91')
      const [decided] = (await service.call('GET', '/decisions')).json
      const path = `/decisions/${decided.decisionId}`
      for (const decision of ['approve', 'decline']) {
        const answer = await service.call('POST', `${path}/answer`, { body: { decision } })
        assert.deepEqual([answer.status, answer.json.code], [409, 'decision_over'])
      }
      const { json } = await service.call('GET', path)
      assert.equal(json.decidedBy, 'fallback:timeout')
      assert.equal(json.lateAnswer.decision, 'approve')
      const events = await sql<{ details: string }>(
        service.database,
        "select details from event where type = 'decision.late'",
      )
      assert.equal(events.length, 1)
      assert.equal(JSON.parse(events[0]?.details ?? '').decisionId, decided.decisionId)
      assert.deepEqual(await sql(service.database, 'select 1 from payment'), [])
    })
  })
}
