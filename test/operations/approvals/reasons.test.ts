/** What the record keeps of a request's reason, and what holds when a request cannot be read. */
import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { expireApprovals } from '../../../src/operations/approvals/decide.ts'
import { ageApproval } from '../../support/builders.ts'
import { openTestService, sql, type TestService } from '../../support/service.ts'
import { callAs, callAsClient, carryOut, makePerson, newJwks } from './people.ts'

const [ann, sol] = [makePerson('ann', 'security-officer'), makePerson('sol', 'security-officer')]
const kim = makePerson('kim', 'key-officer')
const ada = makePerson('ada', 'auditor')

let service: TestService
before(async () => {
  service = await openTestService({ env: { APPROVALS: 'all', RATE_LIMIT: 'off' } })
})

let drawn = 0
const askForClient = async (reason?: string) => {
  drawn += 1
  const body = {
    clientId: `client-${drawn}`,
    clientName: 'A client',
    kind: 'admin',
    scopes: ['support.read'],
    jwks: newJwks(),
    ...(reason !== undefined && { reason }),
  }
  const asked = await callAs(service, ann, 'POST', '/clients', { body })
  assert.equal(asked.status, 202, JSON.stringify(asked.body))
  return asked.body as { approvalId: string; payloadHash: string }
}

const decide = (approvalId: string, act: string, body?: object, person = sol) =>
  callAs(service, person, 'POST', `/approvals/${approvalId}/${act}`, body ? { body } : {})

const listNewest = async () => (await callAs(service, sol, 'GET', '/approvals?limit=1')).body[0]

const countFor = async (person = sol) =>
  (await callAs(service, person, 'GET', '/approvals/waiting')).body.count

/** Seals the parts of a request under a version of the key that is lost. */
const loseKey = (approvalId: string) =>
  sql(
    service.database,
    `update approval
     set payload = set_byte(payload, 1, 239), reason = set_byte(reason, 1, 239)
     where approval_id = $1::uuid returning approval_id`,
    [approvalId],
  )

/** Each way in which a request ends, by its state. */
const endings: Readonly<
  Record<string, (asked: { approvalId: string; payloadHash: string }) => Promise<unknown>>
> = {
  withdrawn: ({ approvalId }) => decide(approvalId, 'withdraw', undefined, ann),
  refused: ({ approvalId }) => decide(approvalId, 'refuse', { reason: 'Nobody knows them' }),
  async expired({ approvalId }) {
    await ageApproval(service.database, approvalId, '25 hours')
    await expireApprovals(service.approvals, new AbortController().signal)
  },
  async done({ approvalId, payloadHash }) {
    await decide(approvalId, 'approve', { payloadHash })
    await carryOut(service)
  },
}

for (const [state, end] of Object.entries(endings)) {
  test(`the reason of a request is listed after it was ${state}`, async () => {
    const reason = `Ticket of a request that is ${state}`
    const asked = await askForClient(reason)
    await end(asked)
    const { body } = await callAs(service, sol, 'GET', `/approvals/${asked.approvalId}`)
    assert.deepEqual([body.state, body.reason], [state, reason])
    const listed = (await callAs(service, sol, 'GET', '/approvals')).body
    const row = listed.find((each: typeof asked) => each.approvalId === asked.approvalId)
    assert.deepEqual([row.state, row.reason, row.isReadable], [state, reason, true])
  })
}

test('the table of approvals has no reason in clear', async () => {
  await askForClient('Ticket that only approvers read')
  const rows = await sql<{ row: string }>(
    service.database,
    `select t::text as "row" from approval t`,
  )
  const hex = Buffer.from('Ticket that only').toString('hex')
  for (const { row } of rows) assert.ok(!row.includes('Ticket') && !row.includes(hex))
})

test('a request without a reason is listed without one', async () => {
  await askForClient()
  const { isReadable, reason } = await listNewest()
  assert.deepEqual([reason, isReadable], [null, true])
})

test('a request whose key is lost is listed, shown and refused, and not approved', async () => {
  const { approvalId, payloadHash } = await askForClient('Ticket of a lost key')
  await loseKey(approvalId)
  const listed = await callAs(service, sol, 'GET', '/approvals')
  assert.equal(listed.status, 200, JSON.stringify(listed.body))
  const [newest] = listed.body
  assert.deepEqual([newest.approvalId, newest.reason, newest.isReadable], [approvalId, null, false])
  const shown = await callAs(service, sol, 'GET', `/approvals/${approvalId}`)
  assert.deepEqual([shown.status, shown.body.payload, shown.body.isReadable], [200, null, false])
  const approved = await decide(approvalId, 'approve', { payloadHash })
  assert.deepEqual([approved.status, approved.body.code], [503, 'unavailable'])
  assert.match(approved.body.detail, /The request cannot be read/)
  const broken = await decide(approvalId, 'break-glass', { reason: 'Now' }, ann)
  assert.deepEqual([broken.status, broken.body.code], [503, 'unavailable'])
  const refused = await decide(approvalId, 'refuse', { reason: 'Nobody can read it' })
  assert.deepEqual([refused.status, refused.body.state], [200, 'refused'])
})

test('a person counts the requests of others that they may decide, and opens none of them', async () => {
  const before = await countFor()
  const { approvalId } = await askForClient('Ticket to be counted')
  assert.equal(await countFor(), before + 1)
  await loseKey(approvalId)
  assert.equal(await countFor(), before + 1)
  await ageApproval(service.database, approvalId, '25 hours')
  assert.equal(await countFor(), before)
})

test('a person counts none of their own requests, and none that their role does not decide', async () => {
  await askForClient('Ticket of another')
  assert.ok((await countFor()) > 0)
  assert.deepEqual([await countFor(ann), await countFor(kim), await countFor(ada)], [0, 0, 0])
  const client = await callAsClient(service, 'demo-admin', ['admin'], 'GET', '/approvals/waiting')
  assert.deepEqual([client.status, client.body], [200, { count: 0 }])
})
