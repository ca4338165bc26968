/** What the audit log does not have is not carried out, whatever a row of the database says. */
import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { enterAll } from '../../support/audit.ts'
import { carryOutNow } from '../../support/builders.ts'
import { openTestService, sql, type TestService } from '../../support/service.ts'
import { callAs, carryOut, makePerson, newJwks, stepsOf } from './people.ts'

const [sue, sol] = [makePerson('sue', 'security-officer'), makePerson('sol', 'security-officer')]

let service: TestService
const lines: string[] = []
before(async () => {
  service = await openTestService({
    env: { APPROVALS: 'administrator', LOG_LEVEL: 'error' },
    onLogLine: (line) => lines.push(line),
  })
})

let drawn = 0
const ask = async () => {
  drawn += 1
  const clientId = `officer-${drawn}`
  const body = { clientId, clientName: 'A', kind: 'admin', scopes: ['admin'], jwks: newJwks() }
  const asked = await callAs(service, sue, 'POST', '/clients', { body })
  assert.equal(asked.status, 202, JSON.stringify(asked.body))
  return { clientId, ...asked.body }
}
const approve = async ({ approvalId, payloadHash }: Record<string, string>) => {
  const path = `/approvals/${approvalId}/approve`
  const approved = await callAs(service, sol, 'POST', path, { body: { payloadHash } })
  assert.equal(approved.status, 200, JSON.stringify(approved.body))
}
const isThere = async (clientId: string) =>
  (await callAs(service, sue, 'GET', `/clients/${clientId}`)).status === 200
const read = async (approvalId: string) =>
  (await callAs(service, sol, 'GET', `/approvals/${approvalId}`)).body

/** Makes a row say that somebody approved it, past this program. */
const forge = (approvalId: string, deciderId: string, brokeGlass = false) =>
  sql(
    service.database,
    `update approval set state = 'approved', decider_id = $2, decider_name = 'Sol', decided_at = now(),
       due_at = now(), broke_glass = $3 where approval_id = $1::uuid returning approval_id`,
    [approvalId, deciderId, brokeGlass],
  )

const refusesToCarryOut = async (approvalId: string, clientId: string) => {
  await carryOut(service)
  const shown = await read(approvalId)
  assert.deepEqual([shown.state, shown.outcomeStatus], ['failed', 403])
  assert.match(shown.outcome.detail, /the audit log has no approval by another person/)
  assert.equal(await isThere(clientId), false)
  assert.equal((await stepsOf(service, approvalId)).at(-1), 'unrecorded')
  assert.ok(
    lines.some(
      (line) => line.includes(approvalId) && line.includes('that is not in the audit log'),
    ),
  )
}

test('a row that was set to approved is not carried out, and everybody hears of it', async () => {
  const { approvalId, clientId } = await ask()
  await forge(approvalId, sol.personId)
  await refusesToCarryOut(approvalId, clientId)
  assert.deepEqual(await stepsOf(service, approvalId), ['asked', 'unrecorded'])
})

test('nor is one that was entered as asked for, or that names its requester, or an emergency', async () => {
  for (const [deciderId, brokeGlass] of [
    [sol.personId, false],
    [sue.personId, false],
    [sue.personId, true],
  ] as const) {
    const { approvalId, clientId } = await ask()
    await enterAll(service.database)
    await forge(approvalId, deciderId, brokeGlass)
    await refusesToCarryOut(approvalId, clientId)
  }
})

test('nor is one that was approved, and says that another asked for it or approved it', async () => {
  for (const column of ['requester_id', 'decider_id']) {
    const { approvalId, clientId, ...asked } = await ask()
    await approve({ approvalId, ...asked })
    const { personId } = makePerson('eve', 'security-officer')
    await sql(
      service.database,
      `update approval set ${column} = $2 where approval_id = $1::uuid returning approval_id`,
      [approvalId, personId],
    )
    await refusesToCarryOut(approvalId, clientId)
  }
})

test('nor is one whose entry was written anew', async () => {
  const { approvalId, clientId } = await ask()
  await sql(
    service.database,
    `insert into audit_act (act, subject_kind, subject, details, client_id, request_id)
     values ('approved', 'approval', $1, '{}', $2, 'r') returning number`,
    [approvalId, sol.personId],
  )
  await enterAll(service.database)
  // What it should have said, under the leaf of what it did.
  await sql(
    service.database,
    `update audit_entry set text = replace(text, '"act":"approval.asked"', '"act":"approval.approved"')
     where text like $1 returning entry_index`,
    [`%${approvalId}%`],
  )
  await forge(approvalId, sol.personId)
  await refusesToCarryOut(approvalId, clientId)
})

test('an approval is in the audit log before its act is carried out', async () => {
  const { approvalId, clientId, ...asked } = await ask()
  await approve({ approvalId, ...asked })
  // Nothing enters it elsewhere, and nothing can be entered.
  await sql(service.database, 'update audit_log set closed_at = now() returning log')
  await carryOut(service)
  assert.equal((await read(approvalId)).state, 'approved')
  assert.equal(await isThere(clientId), false)
  await sql(service.database, 'update audit_log set closed_at = null returning log')
  await carryOutNow(service.database)
  await carryOut(service)
  assert.equal((await read(approvalId)).state, 'done')
  assert.equal(await isThere(clientId), true)
  const entered = await sql<{ act: string }>(
    service.database,
    `select act from audit_entry where text like $1 and act like 'approval.%' order by entry_index`,
    [`%${approvalId}%`],
  )
  assert.deepEqual(
    entered.map(({ act }) => act),
    ['approval.asked', 'approval.approved'],
  )
})
