/** Numbers for charts: what has yet to go out, how long calls take, how worn keys are. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { expiryMonthsAfter } from '../../../src/domain/calendar.ts'
import { computeLatency } from '../../../src/listeners/private/watching.ts'
import { openTestService, sql, type TestService } from '../../support/service.ts'

const readAs = async (service: TestService, path: string, scope = 'support.read') => {
  const token = await service.token(scope, 'admin')
  return service.call('GET', `//figures/${path}`, { listener: 'private', token })
}

test('what has yet to go out is counted, with how long the oldest has waited', async () => {
  const service = await openTestService()
  const { json: bare } = await readAs(service, 'queues')
  assert.deepEqual([bare.now.unpublishedEvents, bare.now.pendingDeliveries], [0, 0])
  assert.deepEqual(bare.overTime, [])
  const other = await openTestService()
  await other.createCard()
  await sql(
    other.database,
    `update event set occurred_at = '${new Date(Date.now() - 90_000).toISOString()}'
     returning sequence`,
  )
  const { now } = (await readAs(other, 'queues')).json
  assert.equal(now.unpublishedEvents, 1)
  assert.ok(now.oldestUnpublishedSeconds >= 90, `${now.oldestUnpublishedSeconds}`)
  const health = await other.call('GET', '//health', { listener: 'private', token: null })
  assert.deepEqual([health.status, health.json.status], [200, 'warn'])
  assert.match(health.json.checks['events:unsent'][0].output, /^1 events are in no feed yet/)
})

test('calls are measured by route, and no card is named', async () => {
  const service = await openTestService()
  const { publicToken } = await service.createCard()
  for (let call = 0; call < 3; call += 1) await service.call('GET', `/cards/${publicToken}`)
  const { json, text } = await readAs(service, 'latency')
  const found = json.routes.find(
    ({ method, route }: { method: string; route: string }) =>
      method === 'GET' && route === '/thr/processor/cards/:publicToken',
  )
  assert.equal(found.calls, 3)
  assert.ok(found.p50Ms > 0 && found.p50Ms <= found.p95Ms && found.p95Ms <= found.p99Ms, text)
  assert.ok(!text.includes(publicToken))
})

test('shares of calls lie between the bounds in which they were counted', () => {
  const within = [
    [0.01, 50],
    [0.02, 90],
    [0.1, 99],
    [Number.POSITIVE_INFINITY, 100],
  ] as const
  assert.deepEqual(computeLatency(within), { calls: 100, p50Ms: 10, p95Ms: 64.44, p99Ms: 100 })
  const slow = [
    [0.01, 0],
    [Number.POSITIVE_INFINITY, 4],
  ] as const
  assert.deepEqual(computeLatency(slow), { calls: 4, p50Ms: 10, p95Ms: 10, p99Ms: 10 })
  assert.deepEqual(computeLatency([]), { calls: 0, p50Ms: null, p95Ms: null, p99Ms: null })
})

test('each key of the installation shows its age, and one that is too old is due, which health says', async () => {
  const service = await openTestService()
  const { json } = await readAs(service, 'keys', 'keys.read')
  assert.ok(json.length > 3)
  for (const { ageSeconds, rotationDue } of json) {
    assert.ok(ageSeconds >= 0)
    assert.equal(rotationDue, null)
  }
  const old = await openTestService()
  await sql(
    old.database,
    `update hsm_key set activated_at = now() - interval '20 years', created_at = now() - interval '20 years' returning key_name`,
  )
  const keys = (await readAs(old, 'keys')).json
  assert.ok(keys.every(({ rotationDue }: { rotationDue: string }) => rotationDue === 'age'))
  const health = await old.call('GET', '//health', { listener: 'private', token: null })
  assert.deepEqual([health.status, health.json.checks['keys:rotation'][0].status], [200, 'warn'])
})

test('open cards are counted by the month of their expiry, for twelve months', async () => {
  const service = await openTestService()
  const today = new Date().toISOString().slice(0, 10)
  const [present = '', next = '', , , , , , , , , , last = ''] = Array.from(
    { length: 12 },
    (_, ahead) => expiryMonthsAfter(today, ahead).lastDay(),
  )
  const beyond = expiryMonthsAfter(today, 12).lastDay()
  const expire = async (validUntil: string) => {
    const { publicToken } = await service.createCard()
    await sql(
      service.database,
      `update card set expiry_date = $2 where public_token = $1
       returning public_token`,
      [publicToken, validUntil],
    )
    return publicToken
  }
  for (const day of [present, next, next, last, beyond]) await expire(day)
  const closed = await expire(next)
  const body = { cardStatusCode: '41' }
  await service.call('PUT', `/cards/${closed}/status`, { body })
  const { json } = await readAs(service, 'expiries', 'keys.read')
  assert.equal(json.length, 12)
  assert.deepEqual(json[0], { month: present.slice(0, 7), cards: 1 })
  assert.deepEqual(json[1], { month: next.slice(0, 7), cards: 2 })
  assert.deepEqual(json[11], { month: last.slice(0, 7), cards: 1 })
  assert.equal(
    json.reduce((sum: number, { cards }: { cards: number }) => sum + cards, 0),
    4,
  )
})

test('figures are for support, and those of keys for whoever reads keys', async () => {
  const service = await openTestService()
  for (const path of ['queues', 'latency', 'keys', 'expiries']) {
    assert.equal((await readAs(service, path)).status, 200, path)
    const refused = await readAs(service, path, 'audit.read')
    assert.deepEqual([refused.status, refused.json.code], [403, 'insufficient_scope'], path)
  }
  assert.equal((await readAs(service, 'queues', 'keys.read')).status, 403)
})
