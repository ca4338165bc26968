/** The health document: what is wrong though everything goes on. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { recordFinding } from '../../../src/operations/audit/record-finding.ts'
import { appendMany, signAll } from '../../support/audit.ts'
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
    ...{ database: 'pass', hsm: 'pass', 'audit-log:signing': 'pass', 'audit-log:rows': 'pass' },
    ...{ 'events:unsent': 'pass', 'deliveries:due': 'pass', 'deliveries:failing': 'pass' },
    ...{ 'keys:rotation': 'pass', 'links:dialled': 'pass', 'approvals:broken-glass': 'pass' },
  })
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
