import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { suite, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type { DecisionEndpoint } from '../../../src/domain/decision.ts'
import {
  createEndpointRegistry,
  type EndpointsInForce,
  isInSample,
  selectEndpoint,
} from '../../../src/operations/decisions/registry.ts'
import { openDecisionEndpoint } from '../../support/decision-endpoint.ts'
import { databaseEngines } from '../../support/engines.ts'
import { openTestService, sql, type TestService } from '../../support/service.ts'
import {
  activate,
  answerPing,
  findEndpoint,
  putInForce,
  rollBack,
  setEndpoint,
} from './endpoint-service.ts'

const clientId = 'demo-client'
const productId = 1001

/** The numbers of the versions in use. */
const numbersOf = (json: Record<string, { version: number } | null>) =>
  Object.fromEntries(
    (['draft', 'enforced', 'previous', 'shadow'] as const).map((name) => [
      name,
      json[name]?.version ?? null,
    ]),
  )

const readNumbers = async (service: TestService, query = '') =>
  numbersOf((await findEndpoint(service, query)).json)

for (const engine of databaseEngines) {
  suite(engine.name, { skip: engine.skip }, () => {
    test('equal settings make no version, and those in force remove the draft', async () => {
      const service = await openTestService({ database: await engine.open() })
      const { url } = await openDecisionEndpoint(answerPing)
      const first = await setEndpoint(service, { url })
      const again = await setEndpoint(service, { url, timeoutMs: 1_500, sample: 100 })
      assert.deepEqual(numbersOf(again.json), numbersOf(first.json))
      assert.equal(again.json.secret, undefined)
      await activate(service)
      await setEndpoint(service, { url })
      const none = { draft: null, previous: null, shadow: null }
      assert.deepEqual(await readNumbers(service), { ...none, enforced: 1 })
      await setEndpoint(service, { url, timeoutMs: 900 })
      assert.deepEqual(await readNumbers(service), { ...none, draft: 2, enforced: 1 })
      await setEndpoint(service, { url })
      assert.deepEqual(await readNumbers(service), { ...none, enforced: 1 })
      const rows = await sql(service.database, 'select version from decision_endpoint')
      assert.equal(rows.length, 2)
    })

    test('a rollback returns to the version before at once, and a second one is refused', async () => {
      const service = await openTestService({ database: await engine.open() })
      const endpoint = await openDecisionEndpoint(answerPing)
      await putInForce(service, { url: endpoint.url })
      await putInForce(service, { url: endpoint.url, timeoutMs: 900 })
      await endpoint.close()
      const back = await rollBack(service)
      assert.equal(back.status, 200, back.text)
      const rolledBack = { draft: 2, enforced: 1, previous: null, shadow: null }
      assert.deepEqual(numbersOf(back.json), rolledBack)
      assert.equal(back.json.enforced.timeoutMs, 1_500)
      const again = await rollBack(service)
      assert.equal(again.status, 409)
      assert.equal(
        again.json.detail,
        'The endpoint has no previous version. Register the wanted settings, and activate them.',
      )
      assert.deepEqual(await readNumbers(service), rolledBack)
    })

    test('trials never become the version that a rollback returns to', async () => {
      const service = await openTestService({ database: await engine.open() })
      const { url } = await openDecisionEndpoint(answerPing)
      await putInForce(service, { url })
      await putInForce(service, { url, timeoutMs: 900, sample: 10 })
      await putInForce(service, { url, timeoutMs: 900, sample: 50 })
      assert.deepEqual(await readNumbers(service), {
        draft: null,
        enforced: 3,
        previous: 1,
        shadow: null,
      })
      await putInForce(service, { url, timeoutMs: 900 })
      assert.equal((await readNumbers(service)).previous, 1)
      assert.equal((await rollBack(service)).json.enforced.version, 1)
    })

    test('a first version decides everything: a trial needs another one for the rest', async () => {
      const service = await openTestService({ database: await engine.open() })
      const { url } = await openDecisionEndpoint(answerPing)
      await setEndpoint(service, { url, sample: 10 })
      const refused = await activate(service)
      assert.deepEqual(
        [refused.status, refused.json.code, refused.json.detail],
        [
          409,
          'decision_version_conflict',
          'Activate a version with sample 100 first: no version would decide the rest.',
        ],
      )
      assert.deepEqual((await readNumbers(service)).enforced, null)
      await putInForce(service, { url, sample: 10, mode: 'shadow' })
      await putInForce(service, { url })
      await putInForce(service, { url, sample: 10 })
      await putInForce(service, { url, sample: 10 }, '?productId=1001')
    })

    test('a shadow stands beside the enforced version until one is enforced or it is removed', async () => {
      const service = await openTestService({ database: await engine.open() })
      const { url } = await openDecisionEndpoint(answerPing)
      await putInForce(service, { url })
      const shadowed = await putInForce(service, { url, timeoutMs: 900, mode: 'shadow' })
      const beside = { draft: null, enforced: 1, previous: null, shadow: 2 }
      assert.deepEqual(numbersOf(shadowed.json), beside)
      const registry = createEndpointRegistry(service.database)
      const inForce = await registry.find(clientId, productId)
      assert.equal(inForce?.enforced?.version, 1)
      assert.equal(inForce.shadow?.version, 2)
      assert.equal(selectEndpoint(inForce, randomUUID())?.version, 1)
      await putInForce(service, { url, timeoutMs: 800, mode: 'shadow' })
      const path = '/decision-endpoint?mode=shadow'
      assert.equal((await service.call('DELETE', path)).status, 204)
      const again = await service.call('DELETE', path)
      assert.equal(again.status, 404)
      assert.equal(again.json.detail, 'The endpoint has no shadow version.')
      assert.deepEqual(await readNumbers(service), { ...beside, shadow: null })
      await putInForce(service, { url, timeoutMs: 700, mode: 'shadow' })
      await putInForce(service, { url, timeoutMs: 700 })
      assert.equal((await readNumbers(service)).shadow, null)
    })

    test('the endpoint of a product takes precedence over the one for all products, in each mode', async () => {
      const service = await openTestService({ database: await engine.open() })
      const { url } = await openDecisionEndpoint(answerPing)
      await putInForce(service, { url })
      await putInForce(service, { url, timeoutMs: 900, mode: 'shadow' }, '?productId=1001')
      const read = async (id: number) => {
        const registry = createEndpointRegistry(service.database)
        const inForce = await registry.find(clientId, id)
        const name = (endpoint: DecisionEndpoint | null | undefined) =>
          endpoint ? `${endpoint.productId} ${endpoint.version}` : null
        return [name(inForce?.enforced), inForce?.others.map(name), name(inForce?.shadow)]
      }
      assert.deepEqual(await read(1001), ['null 1', [], '1001 1'])
      assert.deepEqual(await read(1002), ['null 1', [], null])
      await putInForce(service, { url, timeoutMs: 800 }, '?productId=1001')
      await putInForce(service, { url, timeoutMs: 700 })
      assert.deepEqual(await read(1001), ['1001 2', ['null 2', 'null 1'], null])
      assert.deepEqual(await read(1002), ['null 2', ['null 1'], null])
      assert.equal((await service.call('DELETE', '/decision-endpoint?productId=1001')).status, 204)
      assert.deepEqual(await read(1001), ['null 2', ['null 1'], null])
    })

    test('outside the sample of a product, the endpoint for all products decides', async () => {
      const service = await openTestService({ database: await engine.open() })
      const { url } = await openDecisionEndpoint(answerPing)
      await putInForce(service, { url })
      await putInForce(service, { url, sample: 10 }, '?productId=1001')
      const inForce = await createEndpointRegistry(service.database).find(clientId, productId)
      assert.ok(inForce)
      const ids = Array.from({ length: 500 }, () => randomUUID())
      const own = ids.filter((id) => selectEndpoint(inForce, id)?.productId === productId)
      const common = ids.filter((id) => selectEndpoint(inForce, id)?.productId === null)
      assert.ok(own.length > 0 && common.length > own.length, `${own.length} of ${ids.length}`)
      assert.equal(own.length + common.length, ids.length, 'one of both is always asked')
    })

    test('a removed endpoint gets no requests, and its versions stay on record', async () => {
      const service = await openTestService({ database: await engine.open() })
      const { url } = await openDecisionEndpoint(answerPing)
      await putInForce(service, { url })
      assert.equal((await service.call('DELETE', '/decision-endpoint')).status, 204)
      assert.equal((await findEndpoint(service)).status, 404)
      assert.equal((await service.call('DELETE', '/decision-endpoint')).status, 404)
      assert.equal(await createEndpointRegistry(service.database).find(clientId, productId), null)
      const rows = await sql(service.database, 'select version from decision_endpoint')
      assert.equal(rows.length, 1)
      assert.equal((await setEndpoint(service, { url })).json.draft.version, 2)
    })

    test('two activations of one draft at once put it in force once', async () => {
      const service = await openTestService({ database: await engine.open() })
      const { url } = await openDecisionEndpoint(answerPing)
      await setEndpoint(service, { url })
      const answers = await Promise.all([activate(service), activate(service)])
      assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 409])
      const acts = await sql(
        service.database,
        `select 1 as one from audit_act where act = 'decision_endpoint.activated'`,
      )
      assert.equal(acts.length, 1)
    })

    test('another process uses a version within a second of its activation', async () => {
      const service = await openTestService({ database: await engine.open() })
      const { url } = await openDecisionEndpoint(answerPing)
      const other = createEndpointRegistry(service.database)
      assert.equal(await other.find(clientId, productId), null)
      await putInForce(service, { url })
      await sleep(1_001)
      assert.equal((await other.find(clientId, productId))?.enforced?.version, 1)
      // Also where it is in use all the time, and without waiting for the database.
      await putInForce(service, { url, timeoutMs: 900 })
      for (const endMs = performance.now() + 1_001; performance.now() < endMs; await sleep(20)) {
        await other.find(clientId, productId)
      }
      assert.equal((await other.find(clientId, productId))?.enforced?.version, 2)
    })
  })
}

const version = (number: number, samplePercent: number) => ({
  ...({
    clientId,
    productId: null,
    url: null,
    timeoutMs: 1_500,
    maxInFlight: 100,
    fallback: { onTimeout: 'decline', onError: 'decline', rule: null },
    mode: 'enforce',
    format: 'pinfold',
    apiVersion: '2026-11-20',
  } as const),
  version: number,
  samplePercent,
})

test('a sample of ten percent gets about a tenth, and the previous version the rest', () => {
  const inForce: EndpointsInForce = {
    enforced: version(2, 10),
    others: [version(1, 100)],
    shadow: null,
  }
  const ids = Array.from({ length: 20_000 }, () => randomUUID())
  const sampled = ids.filter((id) => selectEndpoint(inForce, id)?.version === 2)
  // Seven standard deviations.
  assert.ok(sampled.length > 1_700 && sampled.length < 2_300, String(sampled.length))
  for (const id of ids) {
    assert.equal(selectEndpoint(inForce, id)?.version, sampled.includes(id) ? 2 : 1)
    if (id === ids[500]) break
  }
  // A larger sample contains the smaller one.
  for (const id of sampled) assert.ok(isInSample(version(3, 50), id))
})

test('outside the sample, no endpoint is asked without a previous version', () => {
  const inForce: EndpointsInForce = { enforced: version(1, 1), others: [], shadow: null }
  const asked = Array.from({ length: 2_000 }, () => selectEndpoint(inForce, randomUUID()))
  const count = asked.filter((endpoint) => endpoint !== null).length
  assert.ok(count > 0 && count < 60, String(count))
})
