/** Every kind of approval from end to end: asked for, approved by another person, done once. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { appendFile } from 'node:fs/promises'
import { join } from 'node:path'
import { before, test } from 'node:test'
import type { Person } from '../../../src/domain/person.ts'
import { upsertPerson } from '../../../src/storage/people/people.ts'
import { enterAll } from '../../support/audit.ts'
import { activateKey } from '../../support/builders.ts'
import { openTestService, sql, type TestService } from '../../support/service.ts'
import { callAs, carryOut, makePerson, newJwks, stepsOf } from './people.ts'
import { administer, bringZoneMasterKey, zoneKey } from './zone-keys.ts'

const [kim, kai] = [makePerson('kim', 'key-officer'), makePerson('kai', 'key-officer')]
const [sue, sol] = [makePerson('sue', 'security-officer'), makePerson('sol', 'security-officer')]

let service: TestService
before(async () => {
  service = await openTestService({
    env: { APPROVALS: 'all', APPROVALS_UNBLOCK_CARDS: '2', RATE_LIMIT: 'off' },
  })
})

const count = async (text: string, values: (string | number)[] = []): Promise<number> => {
  const rows = await sql<{ count: number }>(
    service.database,
    `select count(*)::integer as "count" from ${text}`,
    values,
  )
  return rows[0]?.count ?? -1
}

/**
 * Asks, has another approve, lets two workers carry it out at once, and then another.
 * @returns what is shown of it in the end.
 */
const pass = async (
  [requester, approver]: readonly [Person, Person],
  [method, path, body]: readonly [string, string, object?],
) => {
  const asked = await callAs(service, requester, method, path, body ? { body } : {})
  assert.equal(asked.status, 202, JSON.stringify(asked.body))
  const { approvalId, payloadHash } = asked.body
  await carryOut(service)
  const waiting = await callAs(service, requester, 'GET', `/approvals/${approvalId}`)
  assert.equal(waiting.body.state, 'waiting')
  const approved = await callAs(service, approver, 'POST', `/approvals/${approvalId}/approve`, {
    body: { payloadHash },
  })
  assert.equal(approved.status, 200, JSON.stringify(approved.body))
  await Promise.all([carryOut(service), carryOut(service)])
  await carryOut(service)
  assert.deepEqual(await stepsOf(service, approvalId), ['asked', 'approved', 'carried out'])
  return (await callAs(service, approver, 'GET', `/approvals/${approvalId}`)).body
}

test('a key is exported once, and its block shown to who could have asked for it, and to no auditor', async () => {
  await bringZoneMasterKey(service, 'zmk-out')
  await administer(service, 'POST', '/keys', { ...zoneKey('zone-out'), exportable: true })
  const body = { key: 'zone-out', clientId: 'demo-network', zoneMasterKey: 'zmk-out' }
  const shown = await pass([kim, kai], ['POST', '/keys/export', body])
  assert.deepEqual([shown.state, shown.outcomeStatus], ['done', 200])
  assert.match(shown.outcome.keyBlock, /^D0/)
  const acts = `audit_act where act = 'exported under zmk-out'`
  assert.equal(await count(acts), 1)
  const ada = makePerson('ada', 'auditor')
  const audited = await callAs(service, ada, 'GET', `/approvals/${shown.approvalId}`)
  assert.deepEqual([audited.body.outcomeStatus, audited.body.outcome], [200, null])
  assert.equal(audited.body.payload, shown.payload)
})

test('a key is retired once, of a zone and of the installation', async () => {
  await administer(service, 'POST', '/keys', { ...zoneKey('zone-old'), exportable: true })
  const body = { key: 'zone-old', clientId: 'demo-network' }
  const shown = await pass([kim, kai], ['POST', '/keys/zones/retire', body])
  assert.deepEqual([shown.state, shown.outcomeStatus, shown.outcome], ['done', 204, null])
  await administer(service, 'POST', '/keys/cvk/rotate')
  await activateKey(service.database, 'cvk', '2 days')
  await service.keys.hsm.refreshKeys()
  const version = await pass([kim, kai], ['POST', '/keys/cvk/versions/1/retire'])
  assert.equal(version.outcomeStatus, 204)
  assert.equal(await count(`audit_act where act = 'retired' and subject = 'cvk/1'`), 1)
})

test('a version of a key is forgotten once', async () => {
  const made = await administer(service, 'POST', '/keys', { family: 'installation', key: 'pvk' })
  const shown = await pass([kim, kai], ['POST', `/keys/pvk/versions/${made.version}/delete`])
  assert.equal(shown.outcomeStatus, 204)
  assert.equal(
    await count(`hsm_key where key_name = 'pvk' and key_version = $1`, [made.version]),
    0,
  )
})

test('an approval of an act on a key is stale once that key has another version', async () => {
  const asked = await callAs(service, kim, 'POST', '/keys/pvk/versions/1/retire')
  await administer(service, 'POST', '/keys', { family: 'installation', key: 'pvk' })
  const answer = await callAs(service, kai, 'POST', `/approvals/${asked.body.approvalId}/approve`, {
    body: { payloadHash: asked.body.payloadHash },
  })
  assert.deepEqual([answer.status, answer.body.code], [409, 'approval_stale'])
})

test('the master key is rotated once', async () => {
  await appendFile(join(service.dataDir, 'master.key'), `${randomBytes(32).toString('hex')}\n`)
  const shown = await pass([kim, kai], ['POST', '/keys/master-key/rotate', {}])
  assert.equal(shown.outcomeStatus, 200, JSON.stringify(shown.outcome))
  assert.equal(await count(`audit_act where act like 'rotated from %'`), 1)
})

test('a client gets scopes that disclose once another person has approved, as it is made and later', async () => {
  const client = { clientId: 'discloser', clientName: 'A', kind: 'client', jwks: newJwks() }
  const made = await pass([sue, sol], ['POST', '/clients', { ...client, scopes: ['pin.reveal'] }])
  assert.deepEqual([made.outcomeStatus, made.outcome.scopes], [201, ['pin.reveal']])
  const change = { scopes: ['pin.reveal', 'cards.encrypted'] }
  const changed = await pass([sue, sol], ['PATCH', '/clients/discloser', change])
  assert.deepEqual([changed.outcomeStatus, changed.outcome.scopes], [200, change.scopes])
  // Taken away at once by one person, and given again by two only.
  assert.equal(
    (await callAs(service, sue, 'PATCH', '/clients/discloser', { body: { active: false } })).status,
    200,
  )
  const enabled = await callAs(service, sue, 'PATCH', '/clients/discloser', {
    body: { active: true },
  })
  assert.equal(enabled.status, 202)
  const fewer = await callAs(service, sue, 'PATCH', '/clients/discloser', {
    body: { scopes: ['cards.encrypted', 'cards.read'] },
  })
  assert.equal(fewer.status, 200)
  const less = await callAs(service, sue, 'PATCH', '/clients/discloser', { body: { scopes: [] } })
  assert.equal(less.status, 200)
})

test('another becomes an administrator, or gets other credentials of one, once another person has approved', async () => {
  const admin = { clientId: 'officer', clientName: 'A', kind: 'admin', scopes: ['admin'] }
  const made = await pass([sue, sol], ['POST', '/clients', { ...admin, jwks: newJwks() }])
  assert.equal(made.outcomeStatus, 201)
  for (const body of [{ jwks: newJwks() }, { scopes: ['admin', 'keys.write'] }, { active: true }]) {
    assert.equal((await callAs(service, sue, 'PATCH', '/clients/officer', { body })).status, 202)
  }
  const off = await callAs(service, sue, 'PATCH', '/clients/officer', { body: { active: false } })
  assert.equal(off.status, 200)
})

test('an erasure is begun once, and its subject is forgotten with its end', async () => {
  const publicToken = '4820117360'
  const body = { publicToken, reason: 'They asked for it' }
  const shown = await pass([sue, sol], ['POST', '/audit/erasures', body])
  assert.deepEqual([shown.outcomeStatus, shown.payload], [202, null])
  assert.equal(await count(`audit_erasure where subject = $1`, [publicToken]), 1)
  const rows = await sql<{ row: string }>(
    service.database,
    'select t::text as "row" from approval t',
  )
  assert.equal(
    rows.some(({ row }) => row.includes(publicToken)),
    false,
  )
  const withdrawn = await callAs(service, sue, 'POST', '/audit/erasures', { body })
  const path = `/approvals/${withdrawn.body.approvalId}`
  const newest = async () => (await callAs(service, sol, 'GET', '/approvals?limit=1')).body[0]
  const { approvalId, reason, subject } = await newest()
  assert.deepEqual(
    [approvalId, reason, subject],
    [withdrawn.body.approvalId, 'They asked for it', null],
  )
  assert.equal((await callAs(service, sue, 'POST', `${path}/withdraw`)).body.payload, null)
  assert.equal((await newest()).reason, 'They asked for it')
})

test('the list of approvals has the reason of each request, and the client that it names', async () => {
  const body = { publicTokens: ['1000000001', '1000000002', '1000000003'], kind: 'pin' }
  const person = makePerson('lis', 'support-lead')
  const asked = async (at: Person, path: string, body: object) => {
    const { body: approval, status } = await callAs(service, at, 'POST', path, { body })
    assert.equal(status, 202, JSON.stringify(approval))
    const listed = await callAs(service, sol, 'GET', '/approvals?limit=1')
    return [listed.body[0].approvalId === approval.approvalId, listed.body[0]] as const
  }
  const [isNewest, unblock] = await asked(person, '/cards/unblock', { ...body, reason: 'Outage 7' })
  assert.deepEqual([isNewest, unblock.reason, unblock.subject], [true, 'Outage 7', null])
  const client = { clientId: 'listed', clientName: 'Listed', kind: 'admin', scopes: ['admin'] }
  const [isLater, registration] = await asked(sue, '/clients', { ...client, jwks: newJwks() })
  assert.deepEqual([isLater, registration.reason, registration.subject], [true, null, 'listed'])
})

test('many cards are unblocked once another person has approved, and few at once', async () => {
  const [lea, leo] = [makePerson('lea', 'support-lead'), makePerson('leo', 'support-lead')]
  const cards = await Promise.all([1, 2, 3].map(() => service.createCard()))
  const publicTokens = cards.map(({ publicToken }) => publicToken)
  const body = { publicTokens, kind: 'pin', reason: 'An outage' }
  const few = { ...body, publicTokens: publicTokens.slice(1) }
  assert.equal((await callAs(service, lea, 'POST', '/cards/unblock', { body: few })).status, 200)
  const shown = await pass([lea, leo], ['POST', '/cards/unblock', body])
  assert.deepEqual([shown.outcomeStatus, shown.outcome.length], [200, 3])
  const unblocked = `event where type = 'pin.unblocked' and public_token = $1`
  assert.equal(await count(unblocked, [publicTokens[0] ?? '']), 1)
})

test('a request is not carried out when its requester has another role by then', async () => {
  const { personId, issuer, subject, name } = sue
  const body = { publicToken: '4820117362', reason: 'They asked for it' }
  await upsertPerson(service.database, { personId, issuer, subject, name, roles: ['auditor'] })
  const shown = await pass([sue, sol], ['POST', '/audit/erasures', body])
  assert.deepEqual([shown.state, shown.outcomeStatus], ['failed', 403])
  await upsertPerson(service.database, {
    personId,
    issuer,
    subject,
    name,
    roles: ['security-officer'],
  })
})

test('a successor of the audit log begins once', async () => {
  await enterAll(service.database)
  await sql(service.database, `update audit_log set refusal = 'It lags behind' returning log`)
  const body = { reason: 'A standby took over' }
  const shown = await pass([sue, sol], ['POST', '/audit/successor', body])
  assert.deepEqual([shown.outcomeStatus, shown.outcome.log], [201, 2])
  assert.equal(await count('audit_log'), 2)
})

test('an act that fails is recorded with its reason, and is not tried again', async () => {
  const body = { clientId: 'discloser', clientName: 'A', kind: 'client', jwks: newJwks() }
  const shown = await pass([sue, sol], ['POST', '/clients', { ...body, scopes: ['pin.reveal'] }])
  assert.deepEqual([shown.state, shown.outcomeStatus], ['failed', 422])
  assert.equal(shown.outcome.errors[0].pointer, '/clientId')
})

test('every step is an entry of the audit log with the hash and the person', async () => {
  const body = { publicToken: '4820117361', reason: 'They asked for it' }
  const shown = await pass([sue, sol], ['POST', '/audit/erasures', body])
  await enterAll(service.database)
  const entries = await sql<{ text: string }>(
    service.database,
    `select text from audit_entry where act like 'approval.%' and text like $1 order by entry_index`,
    [`%${shown.approvalId}%`],
  )
  const said = entries.map(({ text }) => JSON.parse(text))
  assert.deepEqual(
    said.map(({ act, client }) => [act, client]),
    [
      ['approval.asked', sue.personId],
      ['approval.approved', sol.personId],
      ['approval.carried_out', undefined],
    ],
  )
  for (const { details } of said) assert.equal(details.payloadHash, shown.payloadHash)
  const [, approved] = said
  assert.deepEqual(approved.details.person, { issuer: sol.issuer, subject: sol.subject })
})
