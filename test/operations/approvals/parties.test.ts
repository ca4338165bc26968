/** An approver is another person than everyone who could act for the client that asked. */
import assert from 'node:assert/strict'
import { before, suite, test } from 'node:test'
import type { Person } from '../../../src/domain/person.ts'
import { client } from '../../support/builders.ts'
import { openTestService, sql, type TestService } from '../../support/service.ts'
import { callAs, callAsClient, carryOut, makePerson, newJwks } from './people.ts'

const [sue, sol, sam, eve] = ['sue', 'sol', 'sam', 'eve'].map((subject) =>
  makePerson(subject, 'security-officer'),
) as [Person, Person, Person, Person]

type Asked = { approvalId: string; payloadHash: string }

let drawn = 0
const newAdministrator = () => {
  drawn += 1
  return {
    clientId: `officer-${drawn}`,
    clientName: 'An administrator',
    kind: 'admin',
    scopes: ['admin'],
    jwks: newJwks(),
  }
}
const newErasure = () => ({ publicToken: '4820117360', reason: 'They asked for it' })

suite('an installation where administrators and erasures need another person', () => {
  let service: TestService
  before(async () => {
    service = await openTestService({ env: { APPROVALS: 'administrator,erasure' } })
  })

  const approve = (person: Person, { approvalId, payloadHash }: Asked) =>
    callAs(service, person, 'POST', `/approvals/${approvalId}/approve`, { body: { payloadHash } })

  const refusesSamePerson = async (person: Person, asked: Asked): Promise<void> => {
    const answer = await approve(person, asked)
    assert.deepEqual([answer.status, answer.body.code], [403, 'same_person'], person.name)
  }

  const finish = async (person: Person, asked: { status: number; body: Asked }): Promise<void> => {
    assert.equal(asked.status, 202, JSON.stringify(asked.body))
    const approved = await approve(person, asked.body)
    assert.equal(approved.status, 200, JSON.stringify(approved.body))
    await carryOut(service)
    const shown = await callAs(service, person, 'GET', `/approvals/${asked.body.approvalId}`)
    assert.equal(shown.body.state, 'done', JSON.stringify(shown.body))
  }

  /** An administrator's client that one person registered and another approved. */
  const register = async (requester: Person, approver: Person): Promise<string> => {
    const body = newAdministrator()
    await finish(approver, await callAs(service, requester, 'POST', '/clients', { body }))
    return body.clientId
  }

  const askAsClient = async (clientId: string, path: string, body: object): Promise<Asked> => {
    const asked = await callAsClient(service, clientId, ['admin'], 'POST', path, { body })
    assert.equal(asked.status, 202, JSON.stringify(asked.body))
    return asked.body
  }

  test('refuses who registered the client that asked, and who approved that', async () => {
    const clientId = await register(sue, sol)
    const asked = [
      await askAsClient(clientId, '/clients', newAdministrator()),
      await askAsClient(clientId, '/audit/erasures', newErasure()),
    ]
    for (const each of asked) {
      await refusesSamePerson(sue, each)
      await refusesSamePerson(sol, each)
      assert.equal((await approve(sam, each)).status, 200)
    }
  })

  test('refuses who registered the client that registered the client that asked', async () => {
    const first = await register(sue, sol)
    const body = newAdministrator()
    const registration = await askAsClient(first, '/clients', body)
    await finish(sam, { status: 202, body: registration })
    const asked = await askAsClient(body.clientId, '/audit/erasures', newErasure())
    await refusesSamePerson(sue, asked)
    await refusesSamePerson(sam, asked)
    assert.equal((await approve(eve, asked)).status, 200)
  })

  test('refuses who gave the client its credentials later, and who approved those', async () => {
    const clientId = await register(sue, sol)
    const change = await callAs(service, sam, 'PATCH', `/clients/${clientId}`, {
      body: { jwks: newJwks() },
    })
    await finish(eve, change)
    const asked = await askAsClient(clientId, '/audit/erasures', newErasure())
    for (const person of [sue, sol, sam, eve]) await refusesSamePerson(person, asked)
    assert.equal((await approve(makePerson('ann', 'security-officer'), asked)).status, 200)
  })

  test('counts who could act for a client when it asked, whatever was confirmed since', async () => {
    const clientId = await register(sue, sol)
    const asked = await askAsClient(clientId, '/audit/erasures', newErasure())
    const confirmed = await service.call('POST', `//clients/${clientId}/confirm`, {
      as: 'admin',
      listener: 'private',
      body: { credentialsVersion: 1 },
    })
    assert.equal(confirmed.status, 200, confirmed.text)
    await refusesSamePerson(sue, asked)
    await refusesSamePerson(sol, asked)
    // The client is its owner's by now, as an administrator without a hand in it made sure.
    const later = await askAsClient(clientId, '/audit/erasures', newErasure())
    assert.equal((await approve(sue, later)).status, 200)
  })

  test('counts who approved credentials after a confirmation, although the client asked for them itself', async () => {
    const clientId = await register(sue, sol)
    const confirmed = await service.call('POST', `//clients/${clientId}/confirm`, {
      as: 'admin',
      listener: 'private',
      body: { credentialsVersion: 1 },
    })
    assert.equal(confirmed.status, 200, confirmed.text)
    const path = `/clients/${clientId}`
    const body = { jwks: newJwks() }
    const change = await callAsClient(service, clientId, ['admin'], 'PATCH', path, { body })
    await finish(sam, change)
    const asked = await askAsClient(clientId, '/audit/erasures', newErasure())
    await refusesSamePerson(sam, asked)
    assert.equal((await approve(sue, asked)).status, 200)
  })

  test('lets who controls the client that asked refuse the request', async () => {
    const clientId = await register(sue, sol)
    const asked = await askAsClient(clientId, '/audit/erasures', newErasure())
    const refused = await callAs(service, sue, 'POST', `/approvals/${asked.approvalId}/refuse`, {
      body: { reason: 'This was not us' },
    })
    assert.deepEqual([refused.status, refused.body.state], [200, 'refused'])
  })
})

test('a first administrator asks for nothing that needs another person, unless that is allowed', async () => {
  const env = { APPROVALS: 'administrator', APPROVALS_FIRST_ADMINISTRATORS: 'refuse' }
  const service = await openTestService({ env })
  const given = { as: 'admin', listener: 'private' } as const
  const refused = await service.call('POST', '//clients', { ...given, body: newAdministrator() })
  assert.deepEqual([refused.status, refused.json.code], [403, 'same_person'])
  assert.match(refused.json.detail, /Make the request as a person who signed in/)
  // One that was taken before this was so is not approved.
  const asked = await callAs(service, sue, 'POST', '/clients', { body: newAdministrator() })
  await sql(
    service.database,
    'update approval set requester_id = $1, requester_person = null where approval_id = $2::uuid',
    [service.sandbox?.admin.clientId ?? '', asked.body.approvalId],
  )
  const answer = await callAs(service, sol, 'POST', `/approvals/${asked.body.approvalId}/approve`, {
    body: { payloadHash: asked.body.payloadHash },
  })
  assert.deepEqual([answer.status, answer.body.code], [403, 'same_person'])
})

test('a client asks only where a person registered it, and no first administrator could act for it', async () => {
  const env = { APPROVALS: 'erasure', APPROVALS_FIRST_ADMINISTRATORS: 'refuse' }
  const service = await openTestService({ env })
  const ask = async (clientId: string) => {
    const given = { body: newErasure() }
    return callAsClient(service, clientId, ['admin'], 'POST', '/audit/erasures', given)
  }
  const refusesToAsk = async (clientId: string) => {
    const refused = await ask(clientId)
    assert.deepEqual([refused.status, refused.body.code], [403, 'same_person'])
    assert.match(refused.body.detail, /Make the request as a person who signed in/)
  }
  const registerAsClient = async (by: string) => {
    const body = newAdministrator()
    const made = await callAsClient(service, by, ['admin'], 'POST', '/clients', { body })
    assert.equal(made.status, 201, JSON.stringify(made.body))
    return body.clientId
  }
  const first = service.sandbox?.admin.clientId ?? ''
  const ofFirst = await registerAsClient(first)
  await refusesToAsk(ofFirst)
  await refusesToAsk(await registerAsClient(ofFirst))
  // Another first administrator says that it is with its owner, who may be either of them.
  const second = { clientId: 'second', kind: 'admin', scopes: ['admin'], secret: 'second' } as const
  await client(service.database, second)
  const path = `/clients/${ofFirst}/confirm`
  const given = { body: { credentialsVersion: 1 } }
  const confirmed = await callAsClient(service, 'second', ['admin'], 'POST', path, given)
  assert.deepEqual([confirmed.status, confirmed.body.controlledBy], [200, []])
  await refusesToAsk(ofFirst)
  const body = newAdministrator()
  assert.equal((await callAs(service, sue, 'POST', '/clients', { body })).status, 201)
  assert.equal((await ask(body.clientId)).status, 202)
  assert.equal((await ask(await registerAsClient(body.clientId))).status, 202)
  // Other keys that a first administrator gave it are in the hands of that one.
  const change = { body: { jwks: newJwks() } }
  const own = `/clients/${body.clientId}`
  assert.equal((await callAsClient(service, first, ['admin'], 'PATCH', own, change)).status, 200)
  await refusesToAsk(body.clientId)
})
