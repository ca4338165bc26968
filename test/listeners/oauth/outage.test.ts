import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { Problem } from '../../../src/domain/problem.ts'
import { createAuthorizationServer } from '../../../src/listeners/oauth/authorization-server.ts'
import { clientRegister } from '../../../src/service/authentication.ts'
import {
  askToken,
  audiences,
  basic,
  listen,
  type Running,
  register,
  requestListenerOf,
  runAuthorizationServer,
  signingKey,
} from './support.ts'

let running: Running
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
})
after(() => running.close())

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
        clientCertificateOf: null,
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
    clientCertificateOf: null,
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
