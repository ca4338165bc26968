/** How this process calls its own private listener as a person, and that nobody else can. */
import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { derivePersonId, type Person } from '../../src/domain/person.ts'
import type { Server } from '../../src/listeners/http/server.ts'
import { createAccessTokenVerifier } from '../../src/listeners/oauth/access-token-verifier.ts'
import { inProcessCalls } from '../../src/service/in-process-calls.ts'
import { openTestService, type TestService } from '../support/service.ts'

const identity = { issuer: 'https://issuer.test', subject: 'kim' }
const person: Person = {
  ...identity,
  personId: derivePersonId(identity),
  name: 'Kim Keys',
  roles: ['key-officer'],
  authenticatedAt: new Date(),
}
const scopes = new Set(['keys.read', 'keys.write'] as const)
const caller = {
  ...({ clientId: person.personId, kind: 'admin', scopes, person } as const),
  boundThumbprint: null,
  expiresAt: new Date(Date.now() + 60_000),
}
const host = '127.0.0.1:8081'

let service: TestService
before(async () => {
  service = await openTestService()
})

/** What refuses every token: whoever is let in is so by a handle. */
const nobody = createAccessTokenVerifier({
  issuer: 'https://issuer.test',
  audience: 'nobody',
  listener: 'private',
  keys: [],
  findClient: async () => null,
})

const call = (method: 'GET' | 'POST', path: string, body: object | null = null) => ({
  method,
  path,
  body,
  idempotencyKey: null,
  requestId: 'r-1',
})

test('a call is made as the person, under the handle of this one call', async () => {
  const calls = inProcessCalls(nobody)
  const seen: { header: string; clientId: string; person: Person | null; held: string[] }[] = []
  // The listener, as far as the verifier has to do with it.
  const app = {
    async inject({ headers }: { headers: { authorization: string } }) {
      const header = headers.authorization
      const caller = await calls.verifier.verify(header)
      const held = [...caller.scopes]
      seen.push({ header, clientId: caller.clientId, person: caller.person, held })
      // Within the call it was used already.
      await assert.rejects(calls.verifier.verify(header), { code: 'unauthenticated' })
      return { statusCode: 204, headers: {}, payload: '' }
    },
  } as unknown as Server
  for (const _ of [1, 2]) await calls.callAs(app, host, caller, call('GET', '/keys'))
  const [one, other] = seen
  assert.equal(one?.clientId, person.personId)
  assert.deepEqual(one?.person, person)
  assert.deepEqual(one?.held.toSorted(), ['keys.read', 'keys.write'])
  assert.match(one?.header ?? '', /^InProcess [A-Za-z0-9_-]{43}$/)
  assert.notEqual(one?.header, other?.header)
  await assert.rejects(calls.verifier.verify(one?.header), { code: 'unauthenticated' })
})

test('a handle that was not read is good for nothing after its call', async () => {
  const calls = inProcessCalls(nobody)
  const headers: string[] = []
  const app = {
    async inject(request: { headers: { authorization: string } }) {
      headers.push(request.headers.authorization)
      throw new Error('It never came in.')
    },
  } as unknown as Server
  await assert.rejects(calls.callAs(app, host, caller, call('GET', '/keys')))
  await assert.rejects(calls.verifier.verify(headers[0]), { code: 'unauthenticated' })
})

test('an outside caller with the scheme is refused, by whatever handle', async () => {
  for (const header of ['InProcess', 'InProcess ', 'inprocess x', `InProcess ${'A'.repeat(43)}`]) {
    const answer = await service.privateServer.inject({
      method: 'GET',
      url: '/people',
      headers: { host, authorization: header },
    })
    assert.equal(answer.statusCode, 401, header)
    const publicly = await service.publicServer.inject({
      method: 'GET',
      url: '/thr/processor/products',
      headers: { host: '127.0.0.1:8080', authorization: header },
    })
    assert.equal(publicly.statusCode, 401, header)
  }
})
