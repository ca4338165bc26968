/**
 * Approvals by people's own tokens, of a real issuer of identities: subject, issuer and `auth_time`
 * are what it signed.
 */
import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { before, test } from 'node:test'
import { type IdentityIssuer, openIdentityIssuer } from '../../support/identity-issuer.ts'
import { makeFolder } from '../../support/process.ts'
import {
  type Answer,
  createPersonCaller,
  openTestService,
  type TestService,
} from '../../support/service.ts'
import { carryOut, makePerson, newJwks } from './people.ts'

let service: TestService
let issuer: IdentityIssuer

before(async () => {
  issuer = await openIdentityIssuer('http://127.0.0.1:8081/console/sign-in/callback')
  const secretFile = join(await makeFolder(), 'secret')
  await writeFile(secretFile, issuer.clientSecret, { mode: 0o600 })
  for (const subject of ['sue', 'sol']) {
    issuer.people.set(subject, { name: subject, groups: ['security'] })
  }
  service = await openTestService({
    env: {
      APPROVALS: 'all',
      CONSOLE_ISSUER: issuer.issuer,
      CONSOLE_CLIENT_ID: issuer.clientId,
      CONSOLE_CLIENT_SECRET_FILE: secretFile,
      CONSOLE_AUDIENCE: 'people',
      CONSOLE_ROLES: 'security-officer=security',
    },
  })
})

type Asked = { approvalId: string; payloadHash: string }

const call = (token: string, method: string, path: string, body?: object): Promise<Answer> =>
  service.call(method, `/${path}`, { token, listener: 'private', ...(body && { body }) })

let drawn = 0
const ask = async (token: string): Promise<Asked> => {
  drawn += 1
  const asked = await call(token, 'POST', '/clients', {
    clientId: `officer-${drawn}`,
    clientName: 'A',
    kind: 'admin',
    scopes: ['admin'],
    jwks: newJwks(),
  })
  assert.equal(asked.status, 202, asked.text)
  return asked.json
}

const approve = (token: string, { approvalId, payloadHash }: Asked): Promise<Answer> =>
  call(token, 'POST', `/approvals/${approvalId}/approve`, { payloadHash })

test('one person asks by their token and another approves by theirs, signed in a moment ago', async () => {
  const asked = await ask(await issuer.tokenFor('sue', { ageSeconds: 3_000 }))
  // Another token of the same person is the same person.
  const own = await approve(await issuer.tokenFor('sue'), asked)
  assert.deepEqual([own.status, own.json.code], [403, 'same_person'])
  const old = await approve(await issuer.tokenFor('sol', { ageSeconds: 310 }), asked)
  assert.deepEqual([old.status, old.json.code], [401, 'login_too_old'])
  assert.match(String(old.headers['www-authenticate']), /insufficient_user_authentication/)
  const unknown = await approve(await issuer.tokenFor('sol', { ageSeconds: null }), asked)
  assert.deepEqual([unknown.status, unknown.json.code], [403, 'insufficient_scope'])
  const approved = await approve(await issuer.tokenFor('sol', { ageSeconds: 280 }), asked)
  assert.equal(approved.status, 200, approved.text)
  await carryOut(service)
  const token = await issuer.tokenFor('sue')
  const done = await call(token, 'GET', `/approvals/${asked.approvalId}`)
  assert.deepEqual([done.json.state, done.json.outcomeStatus], ['done', 201])
})

test('one person approves a client’s request, and no client’s token does', async () => {
  const clients = await service.token(undefined, 'admin')
  const asked = await ask(clients)
  const own = await approve(clients, asked)
  assert.deepEqual([own.status, own.json.code], [403, 'insufficient_scope'])
  assert.equal((await approve(await issuer.tokenFor('sol'), asked)).status, 200)
})

test('no outside caller passes the gate: a handle is good for one call, and no header makes one', async () => {
  const body = { publicToken: '4820117360', reason: 'They asked for it' }
  const send = async (authorization: string) => {
    const answer = await service.privateServer.inject({
      method: 'POST',
      url: '/audit/erasures',
      payload: JSON.stringify(body),
      headers: { host: '127.0.0.1:8080', 'content-type': 'application/json', authorization },
    })
    return answer.statusCode
  }
  for (const forged of ['InProcess ', 'InProcess x', `InProcess ${'A'.repeat(43)}`]) {
    assert.equal(await send(forged), 401, forged)
  }
  const caller = createPersonCaller(makePerson('sue', 'security-officer'))
  const drawnFrom = { kind: 'erasure', subject: '{}', stateDigest: Buffer.alloc(32) } as const
  const approved = { method: 'POST', path: '/audit/erasures', body, drawnFrom }
  const handle = service.calls.createAuthorization({ ...caller, carriesOut: approved })
  assert.equal(await send(handle), 202)
  assert.equal(await send(handle), 401)
  // What was approved is one request, and no other.
  const other = { ...approved, body: { ...body, publicToken: '4820117361' } }
  assert.equal(await send(service.calls.createAuthorization({ ...caller, carriesOut: other })), 500)
})
