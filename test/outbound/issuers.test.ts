import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import { after, test } from 'node:test'
import { SignJWT } from 'jose'
import { discoverJwksUri } from '../../src/listeners/oauth/issuer-keys.ts'
import { addressPolicy } from '../../src/outbound/address-policy.ts'
import { guardedRequests, jsonFetcher } from '../../src/outbound/guarded-request.ts'
import { readConfig } from '../../src/service/config/config.ts'
import { issuerFetcher } from '../../src/service/outbound.ts'
import { openTestService } from '../support/service.ts'

const metadataPath = '/.well-known/oauth-authorization-server'
const { privateKey, publicKey } = generateKeyPairSync('ed25519')
const jwks = { keys: [{ ...publicKey.export({ format: 'jwk' }), kid: 'outside' }] }

interface Host {
  readonly port: number
  readonly asked: string[]
}

/** A server at an address of loopback: each such address stands for a machine. */
async function listenAt(
  address: string,
  answer: (path: string, port: number) => unknown,
): Promise<Host> {
  const asked: string[] = []
  const server = createServer()
  await once(server.listen(0, address), 'listening')
  after(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as { port: number }
  const listener: RequestListener = ({ url = '' }, response) => {
    asked.push(url)
    const body = answer(url, port)
    if (body === undefined) response.writeHead(404).end()
    else if (body !== silence) response.end(JSON.stringify(body))
  }
  server.on('request', listener)
  return { port, asked }
}

const silence = Symbol('no answer')

/** An issuer whose metadata say that its keys are elsewhere. */
const issuerPointingTo = (jwksUri: string) =>
  listenAt('127.0.0.1', (path, port) =>
    path === metadataPath ? { issuer: `http://127.0.0.1:${port}`, jwks_uri: jwksUri } : undefined,
  )

const tokenOf = (issuer: string): Promise<string> =>
  new SignJWT({ client_id: 'demo-client', scope: 'cards.read' })
    .setProtectedHeader({ alg: 'EdDSA', typ: 'at+jwt', kid: 'outside' })
    .setIssuer(issuer)
    .setAudience('cards')
    .setIssuedAt()
    .setExpirationTime('1m')
    .sign(privateKey)

test('keys of an issuer are not read from an address that is not listed, wherever its metadata point', async () => {
  const elsewhere = await listenAt('127.0.0.2', (path) => (path === '/keys' ? jwks : undefined))
  const host = await issuerPointingTo(`http://127.0.0.2:${elsewhere.port}/keys`)
  const issuer = `http://127.0.0.1:${host.port}`
  const token = await tokenOf(issuer)
  const statusWith = async (OUTBOUND_ALLOW_CIDRS: string) => {
    const env = { AUTH_ISSUER: issuer, AUTH_AUDIENCE: 'cards', OUTBOUND_ALLOW_CIDRS }
    const service = await openTestService({ env })
    return (await service.call('GET', '/products', { token })).status
  }
  assert.equal(await statusWith('127.0.0.1/32'), 503)
  assert.deepEqual([host.asked, elsewhere.asked], [[metadataPath], []])
  assert.equal(await statusWith('127.0.0.1/32,127.0.0.2/32'), 200)
  assert.deepEqual(elsewhere.asked, ['/keys'])
})

test('an issuer is not asked at an address that is not listed', async () => {
  const host = await listenAt('127.0.0.1', () => ({}))
  const config = readConfig({ OUTBOUND_ALLOW_CIDRS: '10.0.0.0/8' })
  const refused = issuerFetcher(config)(new URL(`http://127.0.0.1:${host.port}/`))
  await assert.rejects(refused, /public \(OUTBOUND_ALLOW_CIDRS lists exceptions\)/)
  assert.deepEqual(host.asked, [])
})

const judgeAddress = addressPolicy({ allowCidrs: ['127.0.0.1/32'], ownPorts: [], ports: null })

test('a name that leads to where clouds keep credentials is refused, and so is one that moves there', async () => {
  const host = await listenAt('127.0.0.1', (path, port) =>
    path === metadataPath
      ? { issuer: `http://issuer.example:${port}`, jwks_uri: `http://keys.example:${port}/keys` }
      : jwks,
  )
  const looks: string[] = []
  const addresses: Record<string, string[]> = {
    'issuer.example': ['127.0.0.1', '169.254.169.254'],
    'keys.example': ['169.254.169.254'],
  }
  const resolve = async (name: string) => {
    looks.push(name)
    return [addresses[name]?.shift() ?? '169.254.169.254']
  }
  const issuer = `http://issuer.example:${host.port}`
  const fetchJson = jsonFetcher(guardedRequests({ judgeAddress, resolve, httpsOnly: false }))
  const jwksUri = await discoverJwksUri(fetchJson, issuer)
  await assert.rejects(fetchJson(jwksUri), /OUTBOUND_ALLOW_CIDRS/)
  // On another connection the name is looked up again, and has moved by then.
  const again = jsonFetcher(guardedRequests({ judgeAddress, resolve, httpsOnly: false }))
  await assert.rejects(again(new URL(`${issuer}/keys`)), /OUTBOUND_ALLOW_CIDRS/)
  assert.deepEqual(looks, ['issuer.example', 'keys.example', 'issuer.example'])
  assert.deepEqual(host.asked, [metadataPath])
})

test('an issuer is asked by https alone outside the sandbox', async () => {
  const host = await listenAt('127.0.0.1', () => ({}))
  const resolve = async () => ['127.0.0.1']
  const fetchJson = jsonFetcher(guardedRequests({ judgeAddress, resolve, httpsOnly: true }))
  for (const url of [`http://127.0.0.1:${host.port}/`, 'file:///etc/passwd', 'data:,{}']) {
    await assert.rejects(fetchJson(new URL(url)), /it must be https/, url)
  }
  assert.deepEqual(host.asked, [])
})

test('an issuer that never answers, and a name that is never resolved, are let go in time', async () => {
  const host = await listenAt('127.0.0.1', () => silence)
  const never = () => new Promise<string[]>(() => undefined)
  const fetchJson = jsonFetcher(
    guardedRequests({ judgeAddress, resolve: never, httpsOnly: false }),
    200,
  )
  for (const name of ['127.0.0.1', 'issuer.example']) {
    await assert.rejects(fetchJson(new URL(`http://${name}:${host.port}/`)), /was not read/)
  }
})
