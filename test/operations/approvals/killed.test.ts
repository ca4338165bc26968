/**
 * A worker that is killed between the act and its record: the act is done once, and what came of it
 * is known in the end.
 */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { carryOutNow } from '../../support/builders.ts'
import { openPostgres } from '../../support/postgres.ts'
import { bareEnvironment } from '../../support/process.ts'
import {
  openServerDatabase,
  openTestService,
  sql,
  type TestService,
} from '../../support/service.ts'
import { callAs, carryOut, makePerson, newJwks, stepsOf } from './people.ts'

const [sue, sol] = [makePerson('sue', 'security-officer'), makePerson('sol', 'security-officer')]
const worker = fileURLToPath(new URL('killed-worker.ts', import.meta.url))
const settings = { SANDBOX: 'true', APPROVALS: 'all', LINK_PORT: '0' }

test('an act of a worker that was killed afterwards is not repeated, and its first answer is the outcome', async () => {
  const { database, url } = await openServerDatabase(await openPostgres())
  const service = await openTestService({ database, env: settings })
  const body = {
    clientId: 'officer',
    clientName: 'A',
    kind: 'admin',
    scopes: ['admin'],
    jwks: newJwks(),
  }
  const { body: asked } = await callAs(service, sue, 'POST', '/clients', { body })
  await callAs(service, sol, 'POST', `/approvals/${asked.approvalId}/approve`, {
    body: { payloadHash: asked.payloadHash },
  })
  const child = spawn(process.execPath, [worker], {
    env: {
      ...bareEnvironment,
      ...settings,
      DATABASE_URL: url,
      DATA_DIR: service.dataDir,
      LOG_LEVEL: 'silent',
    },
    stdio: ['ignore', 'inherit', 'inherit'],
  })
  const [, signal] = await once(child, 'exit')
  assert.equal(signal, 'SIGKILL')
  const made = () =>
    sql(
      database,
      `select 1 as one from audit_act where subject = 'officer' and subject_kind = 'client' and act = 'created'`,
    )
  assert.equal((await made()).length, 1)
  const half = await callAs(service, sue, 'GET', `/approvals/${asked.approvalId}`)
  assert.equal(half.body.state, 'approved')
  // While the killed one's lease lasts nobody else takes it.
  await carryOut(service)
  assert.deepEqual(await stepsOf(service, asked.approvalId), ['asked', 'approved'])
  await carryOutNow(database)
  await carryOut(service)
  const shown = await callAs(service, sue, 'GET', `/approvals/${asked.approvalId}`)
  assert.deepEqual([shown.body.state, shown.body.outcomeStatus], ['done', 201])
  assert.equal(shown.body.outcome.clientId, 'officer')
  assert.equal((await made()).length, 1)
  assert.deepEqual(await stepsOf(service, asked.approvalId), ['asked', 'approved', 'carried out'])
})

/** One for those whose workers live. */
const usual = (): Promise<TestService> => {
  usualService ??= openTestService({ env: settings })
  return usualService
}
let usualService: Promise<TestService> | undefined

test('an act that was approved long ago, while no service ran, is not carried out, and says so', async () => {
  const service = await usual()
  const body = {
    clientId: 'late',
    clientName: 'A',
    kind: 'admin',
    scopes: ['admin'],
    jwks: newJwks(),
  }
  const { body: asked } = await callAs(service, sue, 'POST', '/clients', { body })
  await callAs(service, sol, 'POST', `/approvals/${asked.approvalId}/approve`, {
    body: { payloadHash: asked.payloadHash },
  })
  await sql(
    service.database,
    `update approval set decided_at = decided_at - interval '12 hours 1 minute' where approval_id = $1
     returning approval_id`,
    [asked.approvalId],
  )
  await carryOut(service)
  const shown = await callAs(service, sue, 'GET', `/approvals/${asked.approvalId}`)
  assert.deepEqual([shown.body.state, shown.body.outcomeStatus], ['failed', 503])
  assert.equal((await callAs(service, sue, 'GET', '/clients/late')).status, 404)
})

test('an act that cannot be carried out at the moment is tried again later', async () => {
  const service = await usual()
  const body = { publicToken: '4820117360', reason: 'They asked for it' }
  const { body: asked } = await callAs(service, sue, 'POST', '/audit/erasures', { body })
  await callAs(service, sol, 'POST', `/approvals/${asked.approvalId}/approve`, {
    body: { payloadHash: asked.payloadHash },
  })
  await sql(service.database, 'alter table audit_erasure rename to audit_erasure_away')
  await carryOut(service)
  const waiting = await callAs(service, sue, 'GET', `/approvals/${asked.approvalId}`)
  assert.equal(waiting.body.state, 'approved')
  await sql(service.database, 'alter table audit_erasure_away rename to audit_erasure')
  await carryOutNow(service.database)
  await carryOut(service)
  const shown = await callAs(service, sue, 'GET', `/approvals/${asked.approvalId}`)
  assert.deepEqual([shown.body.state, shown.body.outcomeStatus], ['done', 202])
})
