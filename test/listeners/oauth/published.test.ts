import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { listScopes } from '../../../src/domain/client.ts'
import { createAuthorizationServer } from '../../../src/listeners/oauth/authorization-server.ts'
import { openTestService, type TestService } from '../../support/service.ts'
import { audiences, signingKey } from './support.ts'

const issuer = 'http://127.0.0.1:8080'

let service: TestService

before(async () => {
  service = await openTestService()
})

const fail = (): never => assert.fail('The register of clients was asked.')

/** A request that names a path of its own, without a token. */
const call = (method: string, path: string) => service.call(method, `/${path}`, { token: null })

test('the metadata says what is true, and no more', async () => {
  const { headers, json } = await call('GET', '/.well-known/oauth-authorization-server')
  assert.equal(headers['content-type'], 'application/json')
  assert.deepEqual(json, {
    issuer,
    token_endpoint: `${issuer}/oauth/token`,
    jwks_uri: `${issuer}/oauth/jwks`,
    scopes_supported: listScopes(),
    response_types_supported: [],
    grant_types_supported: ['client_credentials'],
    token_endpoint_auth_methods_supported: [
      'client_secret_basic',
      'client_secret_post',
      'private_key_jwt',
    ],
    token_endpoint_auth_signing_alg_values_supported: [
      'ES256',
      'PS256',
      'EdDSA',
      'Ed25519',
      'RS256',
    ],
  })
})

test('all keys are published, and nothing of them but the public part', async () => {
  const server = createAuthorizationServer({
    issuer,
    audiences,
    findClientCertificate: null,
    signingKeys: [signingKey('first'), signingKey('second')],
    // Nothing of what is published comes from the register of clients.
    clients: { findClient: fail, rememberAssertion: fail },
    onError: fail,
  })
  const { keys } = JSON.parse((await server.document('jwks')).text)
  assert.deepEqual(
    keys.map((key: Record<string, unknown>) => [key.kid, Object.keys(key).sort().join()]),
    [
      ['first', 'alg,crv,kid,kty,use,x,y'],
      ['second', 'alg,crv,kid,kty,use,x,y'],
    ],
  )
})

test('nothing else of OpenID Connect is there', async () => {
  const paths = [
    '/oauth/auth',
    '/auth',
    '/oauth/me',
    '/me',
    '/token',
    '/jwks',
    '/OAUTH/TOKEN',
    '/oauth/token/',
    '/token/introspection',
    '/token/revocation',
    '/request',
    '/reg',
    '/session/end',
    '/session/end/confirm',
    '/device',
    '/interaction/a',
    '/.well-known/openid-configuration',
  ]
  for (const path of paths) {
    for (const method of ['GET', 'POST', 'OPTIONS']) {
      assert.equal((await call(method, path)).status, 404, path)
    }
  }
})

test('another method is 405, with the ones that are allowed', async () => {
  const get = await call('GET', '/oauth/token')
  assert.deepEqual([get.status, get.headers.allow], [405, 'POST'])
  const post = await call('POST', '/oauth/jwks')
  assert.deepEqual([post.status, post.headers.allow], [405, 'GET, HEAD'])
})
