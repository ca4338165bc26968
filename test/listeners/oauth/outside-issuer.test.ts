import assert from 'node:assert/strict'
import { generateKeyPairSync, type KeyObject } from 'node:crypto'
import type { Server } from 'node:http'
import { afterEach, test } from 'node:test'
import { createAccessTokenVerifier } from '../../../src/listeners/oauth/access-token-verifier.ts'
import { addressPolicy } from '../../../src/outbound/address-policy.ts'
import { guardedRequests, jsonFetcher } from '../../../src/outbound/guarded-request.ts'
import type { Client } from '../../../src/storage/clients/clients.ts'
import { forgeJwt, weakRsaJwks } from '../../support/weak-rsa-keys.ts'
import { audiences, forge, listen } from './support.ts'

const client: Client = {
  clientId: 'acme',
  clientName: 'Acme',
  kind: 'client',
  scopes: ['cards.read'],
  secretHash: null,
  previousSecretHash: null,
  jwks: null,
  active: true,
  certificateBoundTokens: false,
}

interface Answer {
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: unknown
}

interface OutsideIssuer {
  readonly issuer: string
  readonly privateKey: KeyObject
  /** The paths that were asked for, in order. */
  readonly asked: string[]
  /** What each path answers; a path that is not here answers 404. */
  readonly answers: Record<string, Answer>
}

const authorizationServerMetadata = '/.well-known/oauth-authorization-server'
const openidMetadata = '/.well-known/openid-configuration'
const servers: Server[] = []

afterEach(() => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections()
    server.close()
  }
})

async function runOutsideIssuer(kid = 'outside', path = ''): Promise<OutsideIssuer> {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519')
  const asked: string[] = []
  const answers: Record<string, Answer> = {}
  const { origin, server } = await listen(() => (request, response) => {
    const { body, headers, status } = answers[request.url ?? ''] ?? { status: 404 }
    asked.push(request.url ?? '')
    response.writeHead(status ?? 200, headers).end(JSON.stringify(body))
  })
  servers.push(server)
  answers['/keys'] = { body: { keys: [{ ...publicKey.export({ format: 'jwk' }), kid }] } }
  return { issuer: `${origin}${path}`, privateKey, asked, answers }
}

const metadataOf = (issuer: string, of = issuer): Answer => ({
  body: { issuer: of, jwks_uri: new URL('/keys', issuer).href },
})

const judgeAddress = addressPolicy({ allowCidrs: ['127.0.0.0/8'], ownPorts: [], ports: null })
const request = guardedRequests({
  judgeAddress,
  resolve: async () => ['127.0.0.1'],
  httpsOnly: false,
})
const fetchJson = jsonFetcher(request)

const makeVerifier = (issuer: string, clientClaim?: string) =>
  createAccessTokenVerifier({
    issuer,
    audience: audiences.public,
    listener: 'public',
    keys: { discoverFrom: issuer, fetchJson },
    findClient: async (clientId) => (clientId === client.clientId ? client : null),
    ...(clientClaim !== undefined && { clientClaim }),
  })

const sign = (
  { issuer, privateKey }: OutsideIssuer,
  claims = {},
  header: Readonly<Record<string, string>> = {},
): Promise<string> => forge(privateKey, issuer, claims, { alg: 'EdDSA', kid: 'outside', ...header })

test('an outside issuer is found by RFC 8414, and asked once for many tokens', async () => {
  const outside = await runOutsideIssuer()
  outside.answers[authorizationServerMetadata] = metadataOf(outside.issuer)
  const verifier = makeVerifier(outside.issuer)
  for (const jti of ['a', 'b', 'c']) {
    const caller = await verifier.verify(`Bearer ${await sign(outside, { jti })}`)
    assert.deepEqual([caller.clientId, [...caller.scopes]], ['acme', ['cards.read']])
  }
  assert.deepEqual(outside.asked, [authorizationServerMetadata, '/keys'])
})

test('an issuer with a path is found where RFC 8414 says', async () => {
  const outside = await runOutsideIssuer('outside', '/tenant')
  outside.answers[`${authorizationServerMetadata}/tenant`] = metadataOf(outside.issuer)
  await makeVerifier(outside.issuer).verify(`Bearer ${await sign(outside)}`)
})

test('an outside issuer is found by OpenID Connect discovery', async () => {
  const outside = await runOutsideIssuer('outside', '/tenant')
  outside.answers[`/tenant${openidMetadata}`] = metadataOf(outside.issuer)
  await makeVerifier(outside.issuer).verify(`Bearer ${await sign(outside)}`)
})

test('the configured claim names the client, and no other does', async () => {
  const outside = await runOutsideIssuer()
  outside.answers[authorizationServerMetadata] = metadataOf(outside.issuer)
  const verifier = makeVerifier(outside.issuer, 'azp')
  const named = await sign(outside, { azp: 'acme', client_id: 'other', sub: 'other' })
  assert.equal((await verifier.verify(`Bearer ${named}`)).clientId, 'acme')
  await assert.rejects(verifier.verify(`Bearer ${await sign(outside)}`), {
    code: 'unauthenticated',
  })
})

test('a token of an outside issuer that is bound to a certificate needs that certificate, each time', async () => {
  const outside = await runOutsideIssuer()
  outside.answers[authorizationServerMetadata] = metadataOf(outside.issuer)
  const verifier = makeVerifier(outside.issuer)
  const bound = `Bearer ${await sign(outside, { cnf: { 'x5t#S256': 'a'.repeat(43) } })}`
  for (let turn = 0; turn < 2; turn += 1) {
    assert.equal((await verifier.verify(bound, 'a'.repeat(43))).clientId, 'acme')
    for (const presented of [undefined, null, 'b'.repeat(43), 'a'.repeat(42), '']) {
      await assert.rejects(verifier.verify(bound, presented), { code: 'unauthenticated' })
    }
  }
})

test('a token that is bound to what cannot be checked here is refused, whatever is presented', async () => {
  const outside = await runOutsideIssuer()
  outside.answers[authorizationServerMetadata] = metadataOf(outside.issuer)
  const verifier = makeVerifier(outside.issuer)
  const thumbprint = 'a'.repeat(43)
  for (const cnf of [
    { jkt: thumbprint },
    { 'x5t#S256': thumbprint, jkt: thumbprint },
    { 'x5t#S256': [thumbprint] },
    { 'x5t#S256': '' },
    {},
    null,
    'x5t#S256',
  ]) {
    const token = await sign(outside, { cnf } as object)
    await assert.rejects(verifier.verify(`Bearer ${token}`, thumbprint), {
      code: 'unauthenticated',
    })
  }
})

test('a token of an outside issuer of another type, key or algorithm is refused', async () => {
  const outside = await runOutsideIssuer()
  outside.answers[authorizationServerMetadata] = metadataOf(outside.issuer)
  const verifier = makeVerifier(outside.issuer)
  const { privateKey } = generateKeyPairSync('ed25519')
  const tokens = [
    await sign(outside, {}, { typ: 'JWT' }),
    await sign(outside, {}, { kid: 'unknown' }),
    await sign(outside, {}, { alg: 'Ed25519' }),
    await sign(outside, { iss: 'https://elsewhere.test' }),
    await sign({ ...outside, privateKey }),
  ]
  for (const token of tokens) {
    await assert.rejects(verifier.verify(`Bearer ${token}`), { code: 'unauthenticated' })
  }
  assert.deepEqual(outside.asked, [authorizationServerMetadata, '/keys'])
})

test('a token of a weak key of the issuer is refused, without a fault of the service', async () => {
  const outside = await runOutsideIssuer()
  outside.answers[authorizationServerMetadata] = metadataOf(outside.issuer)
  const nowSeconds = Math.floor(Date.now() / 1_000)
  for (const [what, jwk] of Object.entries(weakRsaJwks)) {
    outside.answers['/keys'] = { body: { keys: [{ ...jwk, kid: 'weak', alg: 'RS256' }] } }
    const token = forgeJwt(
      { typ: 'at+jwt', kid: 'weak' },
      {
        iss: outside.issuer,
        aud: audiences.public,
        client_id: 'acme',
        jti: what,
        scope: 'cards.read',
        iat: nowSeconds,
        exp: nowSeconds + 60,
      },
    )
    const verifying = makeVerifier(outside.issuer).verify(`Bearer ${token}`)
    await assert.rejects(verifying, { code: 'unauthenticated' }, what)
  }
})

test('metadata of another issuer is not used', async () => {
  const outside = await runOutsideIssuer()
  const other = metadataOf(outside.issuer, `${outside.issuer}/`)
  outside.answers[authorizationServerMetadata] = other
  outside.answers[openidMetadata] = other
  const verifier = makeVerifier(outside.issuer)
  await assert.rejects(verifier.verify(`Bearer ${await sign(outside)}`), { code: 'unavailable' })
  assert.equal(outside.asked.includes('/keys'), false)
})

test('no redirect is followed, to the metadata or to the keys', async () => {
  const outside = await runOutsideIssuer()
  const stranger = await runOutsideIssuer()
  stranger.answers['/metadata'] = metadataOf(outside.issuer)
  const redirect = (location: string): Answer => ({ status: 302, headers: { location } })
  outside.answers[authorizationServerMetadata] = redirect(`${stranger.issuer}/metadata`)
  const token = await sign(outside)
  await assert.rejects(makeVerifier(outside.issuer).verify(`Bearer ${token}`), {
    code: 'unavailable',
  })
  outside.answers[authorizationServerMetadata] = metadataOf(outside.issuer)
  outside.answers['/keys'] = redirect(`${stranger.issuer}/keys`)
  await assert.rejects(makeVerifier(outside.issuer).verify(`Bearer ${token}`), {
    code: 'unavailable',
  })
  assert.deepEqual(stranger.asked, [])
})

test('an issuer that answers without end is not read to the end', async () => {
  const outside = await runOutsideIssuer()
  const metadata = { issuer: outside.issuer, jwks_uri: `${outside.issuer}/keys` }
  outside.answers[authorizationServerMetadata] = {
    body: { ...metadata, padding: 'x'.repeat(300 * 1_024) },
  }
  const verifier = makeVerifier(outside.issuer)
  await assert.rejects(verifier.verify(`Bearer ${await sign(outside)}`), { code: 'unavailable' })
})

test('an issuer that is away is unavailable, and is not asked again at once', async () => {
  const outside = await runOutsideIssuer()
  outside.answers[authorizationServerMetadata] = { status: 500 }
  const verifier = makeVerifier(outside.issuer)
  for (const jti of ['a', 'b', 'c']) {
    const token = await sign(outside, { jti })
    await assert.rejects(verifier.verify(`Bearer ${token}`), { code: 'unavailable' })
  }
  assert.deepEqual(outside.asked, [authorizationServerMetadata, openidMetadata])
})

test('an issuer that goes away leaves the keys in use that were fetched', async () => {
  const outside = await runOutsideIssuer()
  outside.answers[authorizationServerMetadata] = metadataOf(outside.issuer)
  const verifier = makeVerifier(outside.issuer)
  await verifier.verify(`Bearer ${await sign(outside)}`)
  for (const server of servers) server.close().closeAllConnections()
  const later = await sign(outside, { jti: 'later' })
  assert.equal((await verifier.verify(`Bearer ${later}`)).clientId, 'acme')
})
