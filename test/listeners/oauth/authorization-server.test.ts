import assert from 'node:assert/strict'
import { after, before, mock, test } from 'node:test'
import { createRemoteJWKSet, decodeProtectedHeader, jwtVerify } from 'jose'
import { Problem } from '../../../src/domain/problem.ts'
import { createAuthorizationServer } from '../../../src/listeners/oauth/authorization-server.ts'
import { clientRegister } from '../../../src/service/authentication.ts'
import { setClientActive } from '../../support/builders.ts'
import {
  askToken,
  audiences,
  basic,
  listen,
  type Running,
  register,
  requestListenerOf,
  runAuthorizationServer,
  secret,
  signingKey,
  tokenRefusals,
} from './support.ts'

const consoleMethods = (['log', 'info', 'warn', 'error'] as const).map((name) =>
  mock.method(console, name, () => undefined),
)
let running: Running
/** What the database fails with from now on. */
let failure: Error | undefined

before(async () => {
  running = await runAuthorizationServer((database) => ({
    query: async (statement, values) => {
      if (failure) throw failure
      return database.query(statement, values)
    },
    script: (text) => database.script(text),
  }))
  await register(running.database, {})
  await register(running.database, {
    clientId: 'visa',
    kind: 'network',
    scopes: ['authorizations.write'],
  })
  await register(running.database, {
    clientId: 'root',
    kind: 'admin',
    scopes: ['admin', 'cards.read'],
  })
})
after(() => running.close())

const verify = async (token: unknown, audience: string) =>
  jwtVerify(String(token), createRemoteJWKSet(new URL(`${running.issuer}/oauth/jwks`)), {
    issuer: running.issuer,
    audience,
  })

test('a client gets a token by client_secret_basic and by client_secret_post', async () => {
  const byHeader = await askToken(running.issuer, {}, { authorization: basic('acme') })
  const byBody = await askToken(running.issuer, { client_id: 'acme', client_secret: secret })
  for (const { body, headers, status } of [byHeader, byBody]) {
    assert.equal(status, 200)
    assert.equal(headers.get('cache-control'), 'no-store')
    assert.equal(headers.get('pragma'), 'no-cache')
    assert.match(headers.get('content-type') ?? '', /^application\/json/)
    assert.deepEqual(Object.keys(body).sort(), [
      'access_token',
      'expires_in',
      'scope',
      'token_type',
    ])
    assert.equal(body.token_type, 'Bearer')
    assert.equal(body.expires_in, 3_600)
  }
})

test('an access token is a JWT of RFC 9068, signed with the first of the published keys', async () => {
  const { body } = await askToken(
    running.issuer,
    { scope: 'pin.write cards.read' },
    { authorization: basic('acme') },
  )
  const { payload } = await verify(body.access_token, audiences.public)
  const { exp = 0, iat = 0, jti, ...rest } = payload
  assert.deepEqual(decodeProtectedHeader(String(body.access_token)), {
    alg: 'ES256',
    typ: 'at+jwt',
    kid: 'first',
  })
  assert.deepEqual(rest, {
    iss: running.issuer,
    aud: audiences.public,
    sub: 'acme',
    client_id: 'acme',
    scope: 'pin.write cards.read',
  })
  assert.equal(exp - iat, 3_600)
  assert.match(String(jti), /^[\w-]{20,}$/)
})

test('a scope left out, or left empty, is all that the client has on its listener', async () => {
  for (const parameters of [{}, { scope: '' }]) {
    const { body } = await askToken(running.issuer, parameters, { authorization: basic('acme') })
    assert.equal(body.scope, 'cards.read cards.write pin.write')
  }
  const admin = await askToken(running.issuer, {}, { authorization: basic('root') })
  assert.equal(admin.body.scope, 'admin')
})

test('network and administration get tokens for the private listener, and for no other', async () => {
  for (const clientId of ['visa', 'root']) {
    const { body } = await askToken(running.issuer, {}, { authorization: basic(clientId) })
    const { payload } = await verify(body.access_token, audiences.private)
    assert.equal(payload.aud, audiences.private)
    const other = await askToken(
      running.issuer,
      { resource: audiences.public },
      { authorization: basic(clientId) },
    )
    assert.deepEqual([other.status, other.body.error], [400, 'invalid_target'])
  }
})

test('a client may name its own audience as the resource', async () => {
  const { status } = await askToken(
    running.issuer,
    { resource: audiences.public },
    { authorization: basic('acme') },
  )
  assert.equal(status, 200)
})

for (const { error, headers, parameters, status, title } of tokenRefusals) {
  test(`${title} is ${status} ${error}`, async () => {
    const answer = await askToken(running.issuer, parameters, headers)
    assert.deepEqual([answer.status, answer.body.error], [status, error])
    assert.equal(answer.headers.get('cache-control'), 'no-store')
    assert.match(answer.headers.get('content-type') ?? '', /^application\/json/)
    assert.match(answer.headers.get('www-authenticate') ?? '', status === 401 ? /^Basic / : /^$/)
    // RFC 6749 section 5.2: the characters that a description may have.
    assert.match(String(answer.body.error_description), /^[\x20-\x21\x23-\x5b\x5d-\x7e]+$/)
    assert.deepEqual(Object.keys(answer.body), ['error', 'error_description'])
  })
}

test('a client without a scope gets no scope, and cannot ask for one', async () => {
  await register(running.database, { clientId: 'bare', scopes: [] })
  const { body } = await askToken(running.issuer, {}, { authorization: basic('bare') })
  assert.equal('scope' in body, false)
  const refused = await askToken(
    running.issuer,
    { scope: 'cards.read' },
    { authorization: basic('bare') },
  )
  assert.equal(refused.body.error, 'invalid_scope')
})

test('a client that is disabled gets no token from that moment on', async () => {
  await register(running.database, { clientId: 'off' })
  const ask = () => askToken(running.issuer, {}, { authorization: basic('off') })
  assert.equal((await ask()).status, 200)
  await setClientActive(running.database, 'off', false)
  assert.equal((await ask()).body.error, 'invalid_client')
  await setClientActive(running.database, 'off', true)
  assert.equal((await ask()).status, 200)
})

test('a change of scopes or of the secret holds for the next token', async () => {
  await register(running.database, { clientId: 'moved', scopes: ['cards.read'] })
  const ask = () => askToken(running.issuer, {}, { authorization: basic('moved') })
  assert.equal((await ask()).body.scope, 'cards.read')
  await register(running.database, { clientId: 'moved', scopes: ['pin.read'] })
  assert.equal((await ask()).body.scope, 'pin.read')
  await register(running.database, { clientId: 'moved', secretHash: new Uint8Array(32) })
  assert.equal((await ask()).status, 401)
})

test('no page of another origin may read a token, and none is asked of its origin', async () => {
  const { headers, status } = await askToken(
    running.issuer,
    {},
    { authorization: basic('acme'), origin: 'https://elsewhere.test' },
  )
  assert.equal(status, 200)
  assert.equal(headers.get('access-control-allow-origin'), null)
})

test('a body that was read before the server got the request still counts', async () => {
  const { origin, server } = await listen(() => async (incoming, outgoing) => {
    const chunks: Buffer[] = []
    for await (const chunk of incoming) chunks.push(chunk)
    await running.server.issueToken(incoming, outgoing, Buffer.concat(chunks))
  })
  try {
    const accepted = await askToken(origin, { client_id: 'acme', client_secret: secret })
    assert.equal(accepted.status, 200)
    const refused = await askToken(origin, { client_id: 'acme', client_secret: 'wrong' })
    assert.equal(refused.body.error, 'invalid_client')
  } finally {
    server.close()
    server.closeAllConnections()
  }
})

test('no line is written to the console, at the start or later', () => {
  assert.deepEqual(
    consoleMethods.flatMap((method) => method.mock.calls.map((call) => call.arguments)),
    [],
  )
  assert.deepEqual(running.failures, [])
})

const ask = (issuer = running.issuer) => askToken(issuer, {}, { authorization: basic('acme') })

test('while the database is away, the answer is 503 and when to come back', async () => {
  failure = new Problem('unavailable')
  const { body, headers, status } = await ask()
  assert.deepEqual([status, body.error], [503, 'temporarily_unavailable'])
  assert.equal(headers.get('retry-after'), '5')
  assert.equal(headers.get('cache-control'), 'no-store')
  assert.equal(running.failures.pop(), failure)
  failure = undefined
  assert.equal((await ask()).status, 200)
})

test('what fails otherwise is 500, is on record, and tells the caller nothing', async () => {
  failure = new Error('secret detail of the database')
  const { body, status } = await ask()
  assert.equal(status, 500)
  assert.equal(body.error, 'server_error')
  assert.doesNotMatch(JSON.stringify(body), /secret/)
  assert.equal(running.failures.pop(), failure)
  failure = undefined
})

test('while the HSM is away, the answer is 503', async () => {
  const { origin, server } = await listen((issuer) =>
    requestListenerOf(
      createAuthorizationServer({
        issuer,
        audiences,
        clients: clientRegister(running.database),
        findClientCertificate: null,
        signingKeys: [
          { ...signingKey('a'), sign: () => Promise.reject(new Problem('unavailable')) },
        ],
        onError: () => undefined,
      }),
    ),
  )
  assert.equal((await ask(origin)).status, 503)
  server.close()
  server.closeAllConnections()
})

test('a server without a key, or with one audience for both listeners, does not start', () => {
  const options = {
    issuer: 'http://127.0.0.1:8080',
    audiences,
    clients: clientRegister(running.database),
    findClientCertificate: null,
    signingKeys: [signingKey('a')],
    onError: () => undefined,
  }
  assert.throws(() => createAuthorizationServer({ ...options, signingKeys: [] }))
  assert.throws(() =>
    createAuthorizationServer({
      ...options,
      audiences: { public: audiences.public, private: audiences.public },
    }),
  )
})
