import assert from 'node:assert/strict'
import { createHash, createPrivateKey, generateKeyPairSync, X509Certificate } from 'node:crypto'
import { before, suite, test } from 'node:test'
import { decodeJwt } from 'jose'
import * as oauth from 'oauth4webapi'
import {
  generateClientSecret,
  hashClientSecret,
  parseClientJwks,
} from '../../../src/operations/clients/credentials.ts'
import { upsertClient } from '../../../src/storage/clients/clients.ts'
import { administerOf } from '../../operations/clients/administer.ts'
import {
  type Authority,
  fetchWith,
  type Identity,
  makeAuthority,
} from '../../support/certificates.ts'
import { findPorts, openTlsService, type TlsTestService } from '../../support/served-service.ts'
import { exponentOnePrivateJwk } from '../../support/weak-rsa-keys.ts'

const issuer = 'https://cards.test'
const secret = generateClientSecret()
const keys = generateKeyPairSync('ec', { namedCurve: 'P-256' })

let authority: Authority
let service: TlsTestService
let own: Identity
let other: Identity
let strangers: Identity

before(async () => {
  authority = await makeAuthority()
  own = await authority.issue('client.test')
  other = await authority.issue('other.test')
  strangers = await (await makeAuthority()).issue('client.test')
  service = await openTlsService(authority, {
    TLS_CLIENT_CERT: 'optional',
    PRIVATE_TLS_CLIENT_CERT: 'optional',
  })
  const registered = {
    clientName: 'Bound',
    kind: 'client',
    scopes: ['cards.read'],
    secretHash: null,
    jwks: null,
    certificateBoundTokens: true,
  } as const
  const jwks = parseClientJwks(keys.publicKey.export({ format: 'jwk' }))
  const { database } = service
  const secretHash = hashClientSecret(secret)
  await upsertClient(database, { ...registered, clientId: 'by-secret', secretHash })
  await upsertClient(database, { ...registered, clientId: 'by-key', jwks })
  await upsertClient(database, {
    ...registered,
    clientId: 'operator',
    kind: 'admin',
    scopes: ['admin'],
    jwks,
  })
  await upsertClient(database, {
    ...registered,
    clientId: 'unbound',
    secretHash,
    certificateBoundTokens: false,
  })
})

const over = (identity: Partial<Identity>, listener: 'public' | 'private' = 'public') =>
  fetchWith({ ca: authority.pem, ...identity }, findPorts(service)[listener])

const discover = async (): Promise<oauth.AuthorizationServer> => {
  const url = new URL(issuer)
  const answer = await oauth.discoveryRequest(url, {
    algorithm: 'oauth2',
    [oauth.customFetch]: over({}),
  })
  return oauth.processDiscoveryResponse(url, answer)
}

const ask = async (
  clientId: string,
  proof: oauth.ClientAuth,
  identity: Partial<Identity>,
): Promise<oauth.TokenEndpointResponse> => {
  const server = await discover()
  const client = { client_id: clientId }
  const answer = await oauth.clientCredentialsGrantRequest(
    server,
    client,
    proof,
    {},
    {
      [oauth.customFetch]: over(identity),
    },
  )
  return oauth.processClientCredentialsResponse(server, client, answer)
}

const byKey = async (): Promise<oauth.ClientAuth> => {
  const der = keys.privateKey.export({ format: 'der', type: 'pkcs8' })
  const algorithm = { name: 'ECDSA', namedCurve: 'P-256' }
  return oauth.PrivateKeyJwt(
    await crypto.subtle.importKey('pkcs8', der, algorithm, false, ['sign']),
  )
}

const thumbprintOf = ({ cert }: Identity): string =>
  createHash('sha256').update(new X509Certificate(cert).raw).digest('base64url')

const call = (token: string, identity: Partial<Identity>, path = '/thr/processor/products') =>
  over(identity)(`${issuer}${path}`, { headers: { authorization: `Bearer ${token}` } })

/** A bound token is good with its certificate, and with nothing else. */
const assertBound = async (token: string): Promise<void> => {
  assert.deepEqual(decodeJwt(token).cnf, { 'x5t#S256': thumbprintOf(own) })
  assert.equal((await call(token, own)).status, 200)
  for (const identity of [other, strangers, {}]) {
    const refused = await call(token, identity)
    assert.equal(refused.status, 401)
    assert.match(refused.headers.get('www-authenticate') ?? '', /error="invalid_token"/)
  }
  assert.equal((await call(token, own)).status, 200)
}

test('a certificate with a publicly known key is no certificate, from any issuer', async () => {
  const key = createPrivateKey({ key: exponentOnePrivateJwk, format: 'jwk' })
  const weak = await authority.issue('client.test', { key })
  await assert.rejects(ask('by-secret', oauth.ClientSecretBasic(secret), weak), {
    error: 'invalid_grant',
  })
  const good = generateKeyPairSync('rsa', { modulusLength: 2_048 }).privateKey
  const strong = await authority.issue('client.test', { key: good })
  const { access_token: token } = await ask('by-secret', oauth.ClientSecretBasic(secret), strong)
  assert.equal((await call(token, strong)).status, 200)
})

suite('a client that was written against the standards', () => {
  test('finds the server by discovery, which says that tokens can be bound', async () => {
    const server = await discover()
    assert.equal(server.tls_client_certificate_bound_access_tokens, true)
    assert.equal(server.token_endpoint, `${issuer}/oauth/token`)
  })

  test('gets a bound token by secret, in both forms, which no other connection can use', async () => {
    for (const proof of [oauth.ClientSecretBasic(secret), oauth.ClientSecretPost(secret)]) {
      const { access_token: token } = await ask('by-secret', proof, own)
      await assertBound(token)
    }
  })

  test('gets a bound token by private_key_jwt, which no other connection can use', async () => {
    const { access_token: token } = await ask('by-key', await byKey(), own)
    await assertBound(token)
  })

  test('gets no token without a certificate of the right authority', async () => {
    for (const identity of [{}, strangers]) {
      await assert.rejects(
        async () => ask('by-key', await byKey(), identity),
        (error) => error instanceof oauth.ResponseBodyError && error.error === 'invalid_grant',
      )
    }
  })
})

test('a client that is not registered so gets a token that is bound to nothing, with a certificate too', async () => {
  const { access_token: token } = await ask('unbound', oauth.ClientSecretBasic(secret), own)
  assert.equal(decodeJwt(token).cnf, undefined)
  assert.equal((await call(token, {})).status, 200)
})

test('a bound token of an operator is good on the private listener with its certificate alone', async () => {
  const { access_token: token } = await ask('operator', await byKey(), own)
  const keysOver = async (identity: Partial<Identity>) => {
    const answer = await over(identity, 'private')(`${issuer}/keys`, {
      headers: { authorization: `Bearer ${token}` },
    })
    return answer.status
  }
  assert.equal(await keysOver(own), 200)
  for (const identity of [other, strangers, {}]) assert.equal(await keysOver(identity), 401)
})

test('a connection that resumes a session has the certificate of that session', async () => {
  const { access_token: token } = await ask('by-key', await byKey(), own)
  const reused: boolean[] = []
  const resuming = fetchWith(
    { ca: authority.pem, ...own, keepAlive: false },
    findPorts(service).public,
    (socket) => reused.push(socket.isSessionReused()),
  )
  for (let turn = 0; turn < 2; turn += 1) {
    const answer = await resuming(`${issuer}/thr/processor/products`, {
      headers: { authorization: `Bearer ${token}` },
    })
    assert.equal(answer.status, 200)
  }
  assert.deepEqual(reused, [false, true])
})

test('an administrator says which clients get bound tokens, and a token from before is of no use then', async () => {
  const administer = administerOf(service)
  const scopes = ['cards.read']
  const draft = { clientId: 'registered', clientName: 'Registered', kind: 'client', scopes }
  const created = await administer('POST', '/clients', { ...draft, certificateBoundTokens: true })
  assert.equal(created.status, 201, created.text)
  assert.equal(created.json.certificateBoundTokens, true)
  const proof = oauth.ClientSecretBasic(created.json.clientSecret)
  await assertBound((await ask('registered', proof, own)).access_token)

  const changed = await administer('PATCH', '/clients/registered', {
    certificateBoundTokens: false,
  })
  assert.equal(changed.json.certificateBoundTokens, false)
  const { access_token: unbound } = await ask('registered', proof, {})
  await administer('PATCH', '/clients/registered', { certificateBoundTokens: true })
  await administer('PATCH', '/clients/registered', { clientName: 'Renamed' })
  assert.equal((await call(unbound, own)).status, 401)
})
