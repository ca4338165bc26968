import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { watchEndpoints } from '../../../src/operations/decisions/watched-endpoints.ts'
import {
  insertEndpointVersion,
  lockEndpoint,
  updateEndpointState,
} from '../../../src/storage/decisions/endpoints.ts'
import type { Database } from '../../../src/storage/engine/database.ts'
import { openDecisionEndpoint } from '../../support/decision-endpoint.ts'
import { databaseEngines } from '../../support/engines.ts'
import { ask } from '../../support/network.ts'
import { openTestService, type TestService } from '../../support/service.ts'
import { answerPing, putInForce } from './endpoint-service.ts'
import { someEndpoint } from './requests.ts'

const watch = async (service: TestService, clientId = 'demo-client') => {
  const path = `//clients/${clientId}/decision-endpoints`
  const answer = await service.call('GET', path, { as: 'admin', listener: 'private' })
  assert.equal(answer.status, 200, answer.text)
  return answer.json
}

for (const engine of databaseEngines) {
  suite(engine.name, { skip: engine.skip }, () => {
    test('operators see versions, who decided, how fast, and why answers were not used', async () => {
      const service = await openTestService({ database: await engine.open() })
      const nothing = { decisions: 0, p50Ms: null, p99Ms: null, decidedBy: [] }
      assert.deepEqual(await watch(service), { endpoints: [], lastHour: nothing, failures: [] })
      const endpoint = await openDecisionEndpoint(answerPing)
      await putInForce(service, { url: endpoint.url })
      await putInForce(service, { url: endpoint.url, timeoutMs: 900 }, '?productId=1001')
      const { publicToken } = await service.createCard()
      for (const answer of [answerPing, answerPing, () => 500]) {
        endpoint.answer = answer
        const members = { publicToken, entryMode: 'ecommerce', amount: 100, currency: 'EUR' }
        assert.equal((await ask(service, members)).status, 200)
      }
      const seen = await watch(service)
      assert.deepEqual(
        seen.endpoints.map(({ productId }: { productId: number | null }) => productId),
        [null, 1001],
      )
      assert.equal(seen.endpoints[1].enforced.timeoutMs, 900)
      assert.doesNotMatch(JSON.stringify(seen), /whsec_|whpk_/)
      assert.deepEqual(seen.lastHour.decidedBy, [
        { decidedBy: 'endpoint', decisions: 2 },
        { decidedBy: 'fallback:error', decisions: 1 },
      ])
      assert.equal(seen.lastHour.decisions, 3)
      assert.ok(seen.lastHour.p50Ms <= seen.lastHour.p99Ms)
      const [failure, ...others] = seen.failures
      assert.deepEqual(others, [])
      assert.equal(failure.publicToken, publicToken)
      assert.deepEqual(
        [failure.error, failure.statusCode, failure.productId, failure.version],
        ['bad_status', 500, 1001, 1],
      )
      const other = await watch(service, 'demo-other-client')
      assert.deepEqual(other, { endpoints: [], lastHour: nothing, failures: [] })
    })

    test('the endpoints of a hundred products are read by one statement', async () => {
      const database = await engine.open()
      const service = await openTestService({ database })
      for (let productId = 1; productId <= 100; productId += 1) {
        const endpoint = someEndpoint({ clientId: 'demo-client', productId, version: 1 })
        await lockEndpoint(database, endpoint)
        await insertEndpointVersion(database, endpoint, endpoint, endpoint)
        const versions = { draftVersion: 1, enforcedVersion: null }
        const none = { previousVersion: null, shadowVersion: null }
        await updateEndpointState(database, endpoint, { ...versions, ...none })
      }
      const read: string[] = []
      const counting: Database = {
        ...database,
        query(statement, values) {
          read.push(statement.name)
          return database.query(statement, values)
        },
      }
      const { endpoints } = await watchEndpoints({ database: counting }, 'demo-client')
      assert.deepEqual(
        endpoints.map(({ draft, productId }) => [productId, draft?.version]),
        Array.from({ length: 100 }, (_, at) => [1 + at, 1]),
      )
      assert.ok(read.length <= 5, read.join())
      await service.close()
    })
  })
}
