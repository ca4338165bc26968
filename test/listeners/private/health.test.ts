/** The health document: what is wrong though everything goes on. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { readWithin } from '../../../src/listeners/private/read-within.ts'
import { auditLeaseName, describeEnteringHealth } from '../../../src/operations/audit-log/health.ts'
import { recordFinding } from '../../../src/operations/audit-log/record-finding.ts'
import { publishBatch } from '../../../src/operations/events/publish.ts'
import { auditEnteringFindings } from '../../../src/service/doctor/audit-check.ts'
import { claimLease } from '../../../src/storage/engine/leases.ts'
import { appendMany, enterAll, signAll } from '../../support/audit.ts'
import { issueCard } from '../../support/network.ts'
import { openTestService, sql, type TestService } from '../../support/service.ts'

const healthOf = async (service: TestService) => {
  const given = { listener: 'private', token: null } as const
  const { headers, json, status } = await service.call('GET', '//health', given)
  assert.match(String(headers['content-type']), /^application\/health\+json/)
  return { code: status, ...json }
}

const statusesOf = ({ checks }: { checks: Record<string, [{ status: string }]> }) =>
  Object.fromEntries(Object.entries(checks).map(([name, [{ status }]]) => [name, status]))

test('nothing is wrong with a service on which nothing was done, nor with one whose log is signed', async () => {
  const service = await openTestService()
  const bare = await healthOf(service)
  assert.deepEqual([bare.code, bare.status], [200, 'pass'])
  await appendMany(service.audit, 2)
  await signAll(service.audit)
  const signed = await healthOf(service)
  assert.deepEqual([signed.code, signed.status], [200, 'pass'])
  assert.deepEqual(statusesOf(signed), {
    database: 'pass',
    hsm: 'pass',
    'audit-log:signing': 'pass',
    'audit-log:rows': 'pass',
    'audit-log:entering': 'pass',
    'events:unsent': 'pass',
    'deliveries:due': 'pass',
    'deliveries:failing': 'pass',
    'webhooks:failing': 'pass',
    'decisions:degraded': 'pass',
    'database:vacuum': 'pass',
    'keys:rotation': 'pass',
    'links:dialled': 'pass',
    'links:listening': 'pass',
    'approvals:broken-glass': 'pass',
  })
})

test('a decision endpoint that does not answer is a warning, which names its client', async () => {
  const service = await openTestService()
  await sql(
    service.database,
    `insert into decision_endpoint_state
       (client_id, product_id, degraded_since, degraded_version, degraded_seen_at)
     values ('demo-client', 0, '2026-11-28T10:00:00Z', 1, now())`,
  )
  const { checks, status } = await healthOf(service)
  assert.equal(status, 'warn')
  assert.equal(
    checks['decisions:degraded'][0].output,
    'The decision endpoint of demo-client has not answered since 2026-11-28T10:00:00.000Z.',
  )
})

test('entries that are under no checkpoint for a minute are a warning, and say for how long', async () => {
  const service = await openTestService()
  await appendMany(service.audit, 2)
  assert.equal((await healthOf(service)).status, 'pass')
  await sql(
    service.database,
    `update audit_entry set entered_at = entered_at - interval '90 s' returning log`,
  )
  const late = await healthOf(service)
  assert.deepEqual([late.code, late.status], [200, 'warn'])
  assert.match(late.checks['audit-log:signing'][0].output, /for (9\d|1\d\d) s/)
  const metrics = await service.call('GET', '//metrics', { listener: 'private', token: null })
  assert.match(metrics.text, /^pinfold_audit_unsigned_seconds (9\d|1\d\d)\.?\d*$/m)
})

/** Waits until what a cluster knows of entries is read again, which it is every two seconds. */
const expireKeptHealth = async ({ database }: TestService): Promise<void> => {
  if (database.isCluster()) await wait(2_100)
}

const ago = (seconds: number): string => new Date(Date.now() - seconds * 1_000).toISOString()

/** What waits to be entered, each by a statement that makes it older. */
const waiting: Readonly<Record<string, (at: string) => string>> = {
  'an act': (at) => `update audit_act set acted_at = '${at}'`,
  'a refusal': (at) =>
    `insert into refused_disclosure
       (minute, client_id, act, includes_pin, outcome, reason, count, first_at, last_at, request_id)
     select at, 'x', 'pin.revealed', true, 'refused', 'not_found', 1, at, at, 'x'
     from (select '${at}'::timestamptz as at) as given`,
  'an event that is in no feed': (at) => `update event set occurred_at = '${at}'`,
  // It is entered after 50 seconds at the latest.
  'a try': (at) =>
    `insert into authorization_request (public_token, authorization_id, client_id, network_id,
      request_id, reference,
       entry_mode, requested_at, kind, try_number, epoch, result, remaining_tries)
     select public_token, '00000000-0000-7000-8000-000000000001', client_id, 'n', 'r', 'r',
       'chip', '${at}'::timestamptz - interval '50 seconds', 'pin', 1, 1,
       'mismatch', 2
     from card limit 1
     on conflict (public_token, authorization_id) do update set requested_at = excluded.requested_at`,
}

for (const [name, madeOlder] of Object.entries(waiting)) {
  test(`${name} that no process enters warns after two minutes, fails after ten, and is entered in the end`, async () => {
    const service = await openTestService()
    await issueCard(service)
    const health = async () => {
      const { checks, status } = await healthOf(service)
      return [status, checks['audit-log:entering'][0].status]
    }
    assert.deepEqual(await health(), ['pass', 'pass'])
    await sql(service.database, madeOlder(ago(130)))
    await expireKeptHealth(service)
    const metrics = await service.call('GET', '//metrics', { listener: 'private', token: null })
    assert.match(metrics.text, /^pinfold_audit_unentered_seconds 1[3-9]\d\.?\d*$/m)
    assert.equal((await health())[1], 'warn')
    await claimLease(service.database, auditLeaseName, randomUUID(), 600)
    await expireKeptHealth(service)
    const verdict = async () => (await auditEnteringFindings(service.database))[0]?.verdict
    assert.equal(await verdict(), 'warning')
    await sql(service.database, madeOlder(ago(660)))
    await expireKeptHealth(service)
    assert.deepEqual(await health(), ['fail', 'fail'])
    assert.equal(await verdict(), 'fault')
    await enterAll(service.database)
    await signAll(service.audit)
    await expireKeptHealth(service)
    assert.deepEqual([await health(), await verdict()], [['pass', 'pass'], 'good'])
  })
}

test('a feed that is published and not entered warns, and says nothing wrong while the service is stopped', async () => {
  const service = await openTestService()
  await issueCard(service)
  await sql(service.database, `update event set occurred_at = '${ago(660)}'`)
  while ((await publishBatch(service.database)) > 0);
  const { checks, code } = await healthOf(service)
  assert.deepEqual([code, checks['audit-log:entering'][0].status], [503, 'fail'])
  assert.match(checks['audit-log:entering'][0].output, /An act of (6[6-9]|7)\d s ago/)
  const [stopped] = await auditEnteringFindings(service.database)
  assert.equal(stopped?.verdict, 'good')
  assert.match(stopped?.found ?? '', /will be entered after the start of the service/)
  await enterAll(service.database)
  await expireKeptHealth(service)
  assert.equal((await healthOf(service)).checks['audit-log:entering'][0].status, 'pass')
})

test('an audit log that cannot be read fails, and its metric goes on', async () => {
  const service = await openTestService()
  const gauge = async () => {
    const metrics = await service.call('GET', '//metrics', { listener: 'private', token: null })
    return Number(/^pinfold_audit_unentered_seconds (\S+)$/m.exec(metrics.text)?.[1])
  }
  const before = await gauge()
  await sql(service.database, 'alter table refused_disclosure rename to another')
  await expireKeptHealth(service)
  const { checks, code } = await healthOf(service)
  assert.deepEqual([code, checks['audit-log:entering'][0].status], [503, 'fail'])
  assert.equal(checks['audit-log:rows'][0].status, 'pass')
  const first = await gauge()
  assert.ok(first > before)
  assert.ok((await gauge()) > first)
})

test('those who ask at one time share one read of what is not entered', async () => {
  const service = await openTestService()
  const [one, other] = [
    describeEnteringHealth(service.database),
    describeEnteringHealth(service.database),
  ]
  assert.equal(one, other)
  await one
  // On a cluster the answer is good for two seconds.
  if (service.database.isCluster()) return
  const later = describeEnteringHealth(service.database)
  assert.notEqual(later, one)
  await later
})

test('a read that does not end, or fails, is given up in time', async () => {
  const { promise } = Promise.withResolvers<string>()
  assert.equal(await readWithin(20, () => promise), null)
  assert.equal(await readWithin(20_000, async () => assert.fail('away')), null)
  assert.equal(await readWithin(20_000, async () => 'read'), 'read')
})

test('a row that no entry accounts for is a warning', async () => {
  const service = await openTestService()
  const finding = { found: 'row changed', details: { table: 'product' } } as const
  await service.database.transaction((connection) => recordFinding(connection, finding))
  const { code, status, ...document } = await healthOf(service)
  assert.deepEqual([code, status], [200, 'warn'])
  assert.equal(statusesOf(document)['audit-log:rows'], 'warn')
})

test('a database that does not answer fails, and the rest is not read from it', async () => {
  const service = await openTestService()
  await service.database.close()
  const { code, status, ...document } = await healthOf(service)
  assert.deepEqual([code, status], [503, 'fail'])
  assert.deepEqual(statusesOf(document), { database: 'fail', hsm: 'pass' })
})
