/**
 * What another person approves is done to a subject that is as it was, and what needs no approval
 * is judged where it is done.
 */
import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import type { Database } from '../../../src/storage/engine/database.ts'
import { openTestDatabase, openTestService, sql, type TestService } from '../../support/service.ts'
import { callAs, carryOut, makePerson, newJwks, stepsOf } from './people.ts'

const [sue, sol] = [makePerson('sue', 'security-officer'), makePerson('sol', 'security-officer')]

/** What another request commits between the decision of the gate and the next transaction. */
let meanwhile: (() => Promise<unknown>) | null = null
let service: TestService
let real: Database
before(async () => {
  real = await openTestDatabase()
  const database: Database = Object.assign(Object.create(real), {
    async transaction(work: Parameters<Database['transaction']>[0]) {
      const other = meanwhile
      meanwhile = null
      await other?.()
      return real.transaction(work)
    },
  })
  service = await openTestService({ database, env: { APPROVALS: 'all', RATE_LIMIT: 'off' } })
})

let drawn = 0
const register = async (members: object = {}): Promise<string> => {
  drawn += 1
  const clientId = `client-${drawn}`
  const body = { clientId, clientName: 'A client', kind: 'client', scopes: ['cards.read'] }
  const made = await callAs(service, sue, 'POST', '/clients', { body: { ...body, ...members } })
  assert.equal(made.status, 201, JSON.stringify(made.body))
  return clientId
}
const ask = async (clientId: string, body: object) => {
  const asked = await callAs(service, sue, 'PATCH', `/clients/${clientId}`, { body })
  assert.equal(asked.status, 202, JSON.stringify(asked.body))
  return asked.body
}
const approve = async ({ approvalId, payloadHash }: Record<string, string>) => {
  const path = `/approvals/${approvalId}/approve`
  const approved = await callAs(service, sol, 'POST', path, { body: { payloadHash } })
  assert.equal(approved.status, 200, JSON.stringify(approved.body))
}
const read = async (path: string) => (await callAs(service, sol, 'GET', path)).body

test('an approved request ends as stale where its client has other keys before it is carried out', async () => {
  const clientId = await register({ jwks: newJwks() })
  const asked = await ask(clientId, { scopes: ['pin.reveal'] })
  await approve(asked)
  const path = `/clients/${clientId}`
  const changed = await callAs(service, sue, 'PATCH', path, { body: { jwks: newJwks() } })
  assert.equal(changed.status, 200, JSON.stringify(changed.body))
  await carryOut(service)
  const shown = await read(`/approvals/${asked.approvalId}`)
  assert.deepEqual(
    [shown.state, shown.outcomeStatus, shown.outcome, shown.payload],
    ['stale', null, null, null],
  )
  assert.equal(shown.decidedBy.id, sol.personId)
  assert.deepEqual((await read(path)).scopes, ['cards.read'])
  assert.deepEqual(await stepsOf(service, asked.approvalId), ['asked', 'approved', 'stale'])
})

test('the second of two approved requests for one client ends as stale', async () => {
  const clientId = await register({ jwks: newJwks() })
  const first = await ask(clientId, { scopes: ['pin.reveal'] })
  const second = await ask(clientId, { scopes: ['pin.write'] })
  await approve(first)
  await approve(second)
  await carryOut(service)
  const states = [first, second].map(({ approvalId }) => read(`/approvals/${approvalId}`))
  const shown = (await Promise.all(states)).map(({ state }) => state)
  assert.deepEqual(shown.toSorted(), ['done', 'stale'])
})

test('a client that is given guarded scopes meanwhile is given no other credentials by one person', async () => {
  const guard = (clientId: string) =>
    sql(
      real,
      `update client set scopes = '{pin.reveal}' where client_id = $1 returning client_id`,
      [clientId],
    )
  for (const [method, suffix, body, members] of [
    ['PATCH', '', { jwks: newJwks() }, { jwks: newJwks() }],
    ['POST', '/rotate-secret', {}, {}],
  ] as const) {
    const clientId = await register(members)
    const path = `/clients/${clientId}`
    const { credentialsVersion } = await read(path)
    meanwhile = () => guard(clientId)
    const refused = await callAs(service, sue, method, `${path}${suffix}`, { body })
    assert.deepEqual([refused.status, refused.body.code], [503, 'unavailable'])
    assert.equal((await read(path)).credentialsVersion, credentialsVersion)
    const again = await callAs(service, sue, method, `${path}${suffix}`, { body })
    const isKept = again.status === 202 || again.body.errors?.[0].pointer === '/secretHash'
    assert.equal(isKept, true, JSON.stringify(again.body))
  }
})
