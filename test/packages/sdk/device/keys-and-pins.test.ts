import assert from 'node:assert/strict'
import { readdir, readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, test } from 'node:test'
import { compactDecrypt } from 'jose'
import { DeviceError, fetchKeys, pinKeys, sealPin } from '../../../../packages/sdk/device/device.ts'
import { weakRsaJwks } from '../../../support/weak-rsa-keys.ts'
import { issuer, jwks, pinPair, publicToken, service } from './hostile-relay.ts'

const answering = (status: number, body: unknown, headers = {}) =>
  (async () => new Response(JSON.stringify(body), { status, headers })) as typeof fetch

test('keys that the application was built with are taken for the service it names', () => {
  assert.equal(pinKeys(`${issuer}/`, jwks).issuer, issuer)
  assert.deepEqual(pinKeys(issuer, jwks).keys, jwks.keys)
})

test('keys without kid, use or alg, of another use, private or none at all are refused', () => {
  const [wrap, , signEc] = jwks.keys
  const faults = [
    { ...wrap, kid: undefined },
    { ...wrap, use: undefined },
    { ...wrap, alg: undefined },
    { ...wrap, alg: 'RSA-OAEP' },
    { ...wrap, alg: 'toString' },
    { ...wrap, use: 'sig' },
    { ...wrap, d: 'AAAA' },
    { ...signEc, use: 'enc' },
    { ...signEc, crv: 'P-384' },
    { kty: 'oct', k: 'AAAA', kid: 'k', use: 'enc', alg: 'ECDH-ES' },
    null,
    ...Object.values(weakRsaJwks).map((weak) => ({ ...wrap, ...weak })),
  ]
  for (const fault of faults) {
    assert.throws(() => pinKeys(issuer, { keys: [...jwks.keys, fault] }), { code: 'invalid_keys' })
  }
  for (const none of [undefined, null, [], {}, { keys: [] }, { keys: 'x' }]) {
    assert.throws(() => pinKeys(issuer, none), { code: 'invalid_keys' })
  }
  assert.throws(() => pinKeys('cards.example', jwks), { code: 'invalid_argument' })
})

test('keys are fetched from the service itself, over TLS or on the same machine', async () => {
  const asked: string[] = []
  const fetch = (async (url: string, options: RequestInit) => {
    asked.push(url)
    const { cache, credentials, redirect } = options
    assert.deepEqual([cache, credentials, redirect], ['no-store', 'omit', 'error'])
    return new Response(JSON.stringify(jwks))
  }) as typeof globalThis.fetch
  assert.deepEqual(await fetchKeys(`${issuer}/`, { fetch }), service)
  await fetchKeys('http://127.0.0.1:8080', { fetch })
  assert.deepEqual(asked, [
    `${issuer}/.well-known/jwks.json`,
    'http://127.0.0.1:8080/.well-known/jwks.json',
  ])
  for (const insecure of ['http://cards.example', 'http://127.0.0.1.cards.example', 'ftp://x']) {
    await assert.rejects(fetchKeys(insecure, { fetch }), { code: 'insecure_service' })
  }
  assert.equal(asked.length, 2)
})

test('a service that is away, or leads elsewhere, gives no keys', async () => {
  const code = 'keys_unavailable'
  await assert.rejects(fetchKeys(issuer, { fetch: answering(503, {}) }), { code })
  const broken = (async () => Promise.reject(new TypeError('away'))) as typeof fetch
  await assert.rejects(fetchKeys(issuer, { fetch: broken }), { code })
  const noKeys = fetchKeys(issuer, { fetch: answering(200, {}) })
  await assert.rejects(noKeys, { code: 'invalid_keys' })
  const server = createServer((_, reply) => {
    reply.writeHead(302, { location: `${issuer}/.well-known/jwks.json` }).end()
  }).listen(0, '127.0.0.1')
  after(() => server.close())
  await new Promise((resolve) => server.once('listening', resolve))
  const { port } = server.address() as AddressInfo
  await assert.rejects(fetchKeys(`http://127.0.0.1:${port}`), { code })
})

test('a service that does not answer is not waited for longer than the caller says', async () => {
  const code = 'keys_unavailable'
  const server = createServer(() => undefined).listen(0, '127.0.0.1')
  after(() => server.close())
  await new Promise((resolve) => server.once('listening', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  await assert.rejects(fetchKeys(url, { timeoutMs: 50 }), { code })
  const leaving = new AbortController()
  server.once('request', () => leaving.abort())
  await assert.rejects(fetchKeys(url, { signal: leaving.signal }), { code })
  await assert.rejects(fetchKeys(url, { signal: AbortSignal.abort() }), { code })
})

test('a chosen PIN is sealed to the pin key, for one card, one use and now', async () => {
  const sealed = await Promise.all([1, 2].map(() => sealPin(service, publicToken, '4821')))
  const opened = await Promise.all(
    sealed.map(async ({ encryptedPin }) => {
      const { plaintext, protectedHeader } = await compactDecrypt(encryptedPin, pinPair.privateKey)
      const { epk, ...header } = protectedHeader
      assert.deepEqual(header, {
        alg: 'ECDH-ES',
        enc: 'A256GCM',
        typ: 'set-pin+jwe',
        kid: 'pin-1',
      })
      return JSON.parse(Buffer.from(plaintext).toString())
    }),
  )
  for (const envelope of opened) {
    assert.deepEqual(Object.keys(envelope).sort(), ['iat', 'jti', 'pin', 'publicToken'])
    assert.deepEqual([envelope.pin, envelope.publicToken], ['4821', publicToken])
    assert.ok(Math.abs(envelope.iat - Date.now() / 1000) < 60)
  }
  assert.notEqual(opened[0].jti, opened[1].jti)
})

test('a text that is no PIN or no card is refused, and the refusal does not repeat it', async () => {
  for (const [token, pin] of [
    [publicToken, '719'],
    [publicToken, '7193406284161'],
    [publicToken, '71a3'],
    ['719340', '7193'],
  ] as const) {
    const error = await sealPin(service, token, pin).catch((thrown: Error) => thrown)
    assert.ok(error instanceof DeviceError && error.code === 'invalid_argument')
    assert.ok(!String(error.stack).includes(pin))
  }
  // A caller without types may pass the number, which the service refuses without a reason.
  const number = JSON.parse('7193')
  await assert.rejects(sealPin(service, publicToken, number), { code: 'invalid_argument' })
})

test('the library needs nothing but jose and Web Cryptography, so that it runs in a browser', async () => {
  const folder = new URL('../../../../packages/sdk/device/', import.meta.url)
  const names = await readdir(folder)
  assert.ok(names.includes('device.ts'))
  for (const name of names) {
    const text = await readFile(new URL(name, folder), 'utf8')
    for (const [, from = ''] of text.matchAll(/from '([^']+)'/g)) {
      assert.match(from, /^(?:jose|\.\/[a-z0-9-]+\.ts)$/, name)
    }
    assert.doesNotMatch(text, /\b(?:Buffer|process|require|__dirname)\b/, name)
  }
})

test('a device without Web Cryptography is told what it lacks, not that the keys are bad', async (t) => {
  t.mock.getter(globalThis, 'crypto', () => ({}))
  const lacking = { code: 'no_web_crypto', message: /crypto\.subtle/ }
  await assert.rejects(sealPin(service, '4820117360', '2468'), lacking)
})
