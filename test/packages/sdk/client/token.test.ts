import assert from 'node:assert/strict'
import { before, beforeEach, test } from 'node:test'
import { exportJWK, generateKeyPair } from 'jose'
import {
  CallFailed,
  createPinfold,
  type PinfoldOptions,
} from '../../../../packages/sdk/client/client.ts'
import { client as addClient } from '../../../support/builders.ts'
import { openServedService, type ServedService } from '../../../support/served-service.ts'
import { createRecorder, type Recorder, refusal } from './recorder.ts'

let service: ServedService
let recorder: Recorder
before(async () => {
  service = await openServedService()
})
beforeEach(() => {
  recorder = createRecorder()
})

const client = (options: Partial<PinfoldOptions> = {}) =>
  createPinfold({ ...service.sandbox, fetch: recorder.fetch, ...options })

const countOf = (pathEnd: string): number =>
  recorder.sent.filter(({ path }) => path.endsWith(pathEnd)).length

test('one token is fetched, however many calls begin at once, and used by those that follow', async () => {
  const { products } = client()
  await Promise.all(Array.from({ length: 8 }, () => products.list().page()))
  await products.list().page()
  assert.equal(countOf('/oauth/token'), 1)
  assert.equal(countOf('/products'), 9)
})

test('who stops waiting for a token leaves it to the others', async () => {
  const { products } = client()
  const leaving = new AbortController()
  const left = products.list({}, { signal: leaving.signal }).page()
  const stayed = products.list().page()
  leaving.abort(new Error('gone'))
  await assert.rejects(left, /gone/)
  assert.ok((await stayed).items.length > 0)
})

test('the token endpoint is found by the metadata of the service, once', async () => {
  const { baseUrl, clientId, clientSecret } = service.sandbox
  const found = createPinfold({ baseUrl, clientId, clientSecret, fetch: recorder.fetch })
  await found.products.list().page()
  await found.products.list().page()
  assert.equal(countOf('/.well-known/oauth-authorization-server'), 1)
  assert.equal(countOf('/oauth/token'), 1)
})

test('a service that has another name than it was called by is shown no secret', async () => {
  const { baseUrl, clientId, clientSecret } = service.sandbox
  const other = baseUrl.replace('127.0.0.1', 'localhost')
  const fetch: typeof globalThis.fetch = (input, init) =>
    recorder.fetch(String(input).replace('localhost', '127.0.0.1'), init)
  const misled = createPinfold({ baseUrl: other, clientId, clientSecret, fetch })
  await assert.rejects(misled.products.list().page(), (error) => {
    assert.ok(error instanceof CallFailed)
    assert.equal(error.code, 'wrong_issuer')
    assert.ok(error.message.includes(baseUrl))
    return true
  })
  assert.equal(countOf('/oauth/token'), 0)
})

test('a token that the service no longer knows is replaced once, and the call goes through', async () => {
  const { cards } = client()
  const { publicToken } = await service.createCard()
  await cards.retrieve(publicToken)
  recorder.befall(publicToken, refusal(401, 'unauthenticated'))
  await cards.retrieve(publicToken)
  assert.equal(countOf('/oauth/token'), 2)
  recorder.befall(publicToken, refusal(401, 'unauthenticated'), refusal(401, 'unauthenticated'))
  await assert.rejects(cards.retrieve(publicToken), { code: 'unauthenticated' })
  assert.equal(countOf('/oauth/token'), 3)
})

test('a token is replaced before it expires', async () => {
  const { products } = client()
  const short = await service.token()
  recorder.befall(
    '/oauth/token',
    Response.json({ access_token: short, token_type: 'Bearer', expires_in: 0 }),
  )
  await products.list().page()
  await products.list().page()
  await products.list().page()
  assert.equal(countOf('/oauth/token'), 2)
})

test('asking for a token is tried again when the service is away, and not when it refuses', async () => {
  recorder.befall('/oauth/token', 'request lost', refusal(503, 'unavailable', 0))
  assert.ok((await client().products.list().page()).items.length > 0)
  assert.equal(countOf('/oauth/token'), 3)
  const refused = client({ scope: 'cards.read admin' }).products.list().page()
  await assert.rejects(refused, (error) => {
    assert.ok(error instanceof CallFailed)
    assert.equal(error.code, 'token_refused')
    assert.equal(error.oauthError, 'invalid_scope')
    return true
  })
  assert.equal(countOf('/oauth/token'), 4)
})

test('a client with a key signs an assertion for each token, and holds no secret', async () => {
  const { privateKey, publicKey } = await generateKeyPair('ES256', { extractable: true })
  await addClient(service.database, {
    clientId: 'keyed-client',
    jwks: JSON.stringify({ keys: [{ ...(await exportJWK(publicKey)), use: 'sig' }] }),
  })
  const { baseUrl } = service.sandbox
  const jwk = { ...(await exportJWK(privateKey)), alg: 'ES256' }
  const options = { baseUrl, clientId: 'keyed-client', privateKey: jwk, fetch: recorder.fetch }
  const { products } = createPinfold(options)
  recorder.befall('/oauth/token', 'answer lost')
  assert.deepEqual((await products.list().page()).items, [])
  const bodies = recorder.sent.flatMap(({ body, path }) => (path === '/oauth/token' ? [body] : []))
  assert.equal(bodies.length, 2)
  assert.notEqual(bodies[0], bodies[1])
  assert.match(bodies[0] ?? '', /client_assertion_type=urn/)
  const { kty: _kty, ...broken } = jwk
  const unusable = createPinfold({ ...options, privateKey: broken })
  await assert.rejects(unusable.products.list().page(), (error) => {
    assert.ok(error instanceof CallFailed && error.code === 'invalid_argument')
    assert.equal(error.cause, undefined)
    return true
  })
})

test('options that cannot work are refused before anything is sent', () => {
  const { baseUrl, clientId, clientSecret } = service.sandbox
  const good = { baseUrl, clientId, clientSecret }
  const bad: [code: string, options: PinfoldOptions][] = [
    ['insecure_service', { ...good, baseUrl: 'http://cards.example' }],
    ['insecure_service', { ...good, tokenEndpoint: 'http://login.example/token' }],
    ['invalid_argument', { ...good, baseUrl: 'cards.example' }],
    ['invalid_argument', { ...good, clientId: '' }],
    ['invalid_argument', { baseUrl, clientId }],
    ['invalid_argument', { ...good, privateKey: { kty: 'EC', alg: 'ES256' } }],
    ['invalid_argument', { ...good, processorPath: 'a/b' }],
    ['invalid_argument', { ...good, timeoutMs: 0 }],
    ['invalid_argument', { ...good, retries: -1 }],
  ]
  for (const [code, options] of bad) {
    assert.throws(() => createPinfold(options), { code }, JSON.stringify(options))
  }
  assert.ok(createPinfold({ ...good, baseUrl: 'http://cards.internal/', allowHttp: true }))
})

test('a token that is not to be had is asked for as often as is allowed, not as often again', async () => {
  recorder.befall(
    '/oauth/token',
    ...Array.from({ length: 9 }, () => refusal(503, 'unavailable', 0)),
  )
  await assert.rejects(client({ retries: 2 }).products.list().page(), { code: 'token_refused' })
  assert.equal(countOf('/oauth/token'), 3)
})
