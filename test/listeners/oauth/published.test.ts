import assert from 'node:assert/strict'
import { request, type Server } from 'node:http'
import { after, before, test } from 'node:test'
import { scopesOf } from '../../../src/domain/client.ts'
import { createAuthorizationServer } from '../../../src/listeners/oauth/authorization-server.ts'
import { audiences, listen, signingKey } from './support.ts'

let issuer: string
let server: Server

before(async () => {
  const listening = await listen((origin) => {
    issuer = origin
    const { handle } = createAuthorizationServer({
      issuer,
      audiences,
      bindsTokens: false,
      signingKeys: [signingKey('first'), signingKey('second')],
      // Nothing of what is published comes from the register of clients.
      clients: { findClient: fail, rememberAssertion: fail },
      onError: fail,
    })
    return handle
  })
  server = listening.server
})
after(() => {
  server.closeAllConnections()
  server.close()
})

const fail = (): never => assert.fail('The register of clients was asked.')

test('a Host header changes nothing of what is published', async () => {
  const metadata = await new Promise<string>((resolve, reject) => {
    request(
      `${issuer}/.well-known/oauth-authorization-server`,
      { headers: { host: 'elsewhere.test' } },
      (response) => {
        response.setEncoding('utf8').on('data', resolve)
      },
    )
      .on('error', reject)
      .end()
  })
  assert.equal(JSON.parse(metadata).token_endpoint, `${issuer}/oauth/token`)
})

test('the metadata says what is true, and no more', async () => {
  const response = await fetch(`${issuer}/.well-known/oauth-authorization-server`)
  assert.equal(response.headers.get('content-type'), 'application/json')
  assert.deepEqual(await response.json(), {
    issuer: issuer,
    token_endpoint: `${issuer}/oauth/token`,
    jwks_uri: `${issuer}/oauth/jwks`,
    scopes_supported: scopesOf(),
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
  const response = await fetch(`${issuer}/oauth/jwks`)
  const { keys } = (await response.json()) as { keys: Record<string, unknown>[] }
  assert.deepEqual(
    keys.map((key) => [key.kid, Object.keys(key).sort().join()]),
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
      assert.equal((await fetch(`${issuer}${path}`, { method })).status, 404, path)
    }
  }
})

test('another method is 405, with the ones that are allowed', async () => {
  const get = await fetch(`${issuer}/oauth/token`)
  assert.deepEqual([get.status, get.headers.get('allow')], [405, 'POST'])
  const post = await fetch(`${issuer}/oauth/jwks`, { method: 'POST' })
  assert.deepEqual([post.status, post.headers.get('allow')], [405, 'GET, HEAD'])
})
