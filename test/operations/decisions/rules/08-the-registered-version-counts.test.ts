/**
 * Rule 8: the registered version counts; the answer needs no version header.
 */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { suite, test } from 'node:test'
import {
  createEndpointRegistry,
  selectEndpoint,
} from '../../../../src/operations/decisions/registry.ts'
import { openDecisionEndpoint } from '../../../support/decision-endpoint.ts'
import { databaseEngines } from '../../../support/engines.ts'
import { openTestService, sql } from '../../../support/service.ts'
import { activate, answerPing, putInForce, setEndpoint } from '../endpoint-service.ts'

for (const engine of databaseEngines) {
  suite(engine.name, { skip: engine.skip }, () => {
    test('an endpoint is asked in the version of the interface that it was registered in', async () => {
      const service = await openTestService({ database: await engine.open() })
      const endpoint = await openDecisionEndpoint(answerPing)
      await putInForce(service, { url: endpoint.url })
      // As if an earlier version of the program had registered it.
      await sql(service.database, `update decision_endpoint set api_version = '2026-01-01'`)
      const inForce = await createEndpointRegistry(service.database).find('demo-client', 1001)
      assert(inForce)
      assert.equal(selectEndpoint(inForce, randomUUID())?.apiVersion, '2026-01-01')
      // A registration of the same settings by a newer version makes a draft in that version.
      const renewed = await setEndpoint(service, { url: endpoint.url })
      assert.equal(renewed.json.enforced.apiVersion, '2026-01-01')
      assert.equal(renewed.json.draft.apiVersion, '2026-11-20')
      const before = endpoint.received.length
      await activate(service)
      assert.equal(endpoint.received[before]?.headers['api-version'], '2026-11-20')
    })

    test('an answer needs no version header, and one in it changes nothing', async () => {
      const service = await openTestService({ database: await engine.open() })
      const endpoint = await openDecisionEndpoint((received, response) => {
        response.writeHead(200, { 'api-version': '1999-01-01' })
        response.end(JSON.stringify({ ...answerPing(received), apiVersion: '1999-01-01' }))
        return undefined
      })
      const activated = await putInForce(service, { url: endpoint.url })
      assert.equal(activated.json.enforced.apiVersion, '2026-11-20')
    })
  })
}
