import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { test } from 'node:test'
import { isScope, scopesOf } from '../../../src/domain/client.ts'
import { claimedClientId } from '../../../src/listeners/oauth/claimed-client.ts'
import {
  generateClientSecret,
  hashClientSecret,
  matchesClientSecret,
  parseClientJwks,
} from '../../../src/operations/clients/credentials.ts'
import { basic } from './support.ts'

const pairs = {
  ec: generateKeyPairSync('ec', { namedCurve: 'P-256' }),
  ed25519: generateKeyPairSync('ed25519'),
  rsa: generateKeyPairSync('rsa', { modulusLength: 2_048 }),
}
const publicJwk = (name: keyof typeof pairs) => pairs[name].publicKey.export({ format: 'jwk' })

test('a client secret has 256 random bits, and only its hash is compared', () => {
  const secret = generateClientSecret()
  assert.match(secret, /^[\w-]{43}$/)
  assert.notEqual(secret, generateClientSecret())
  const hash = hashClientSecret(secret)
  assert.equal(hash.length, 32)
  assert.equal(matchesClientSecret(secret, hash), true)
  assert.equal(matchesClientSecret(`${secret}x`, hash), false)
  assert.equal(matchesClientSecret('', new Uint8Array()), false)
})

test('public keys of every accepted kind are stored, alone or as a set', () => {
  const single = { keys: [{ ...publicJwk('ec'), use: 'sig' }] }
  assert.deepEqual(JSON.parse(parseClientJwks(publicJwk('ec'))), single)
  const keys = [publicJwk('ec'), { ...publicJwk('ed25519'), alg: 'EdDSA' }, publicJwk('rsa')]
  assert.equal(JSON.parse(parseClientJwks({ keys })).keys.length, 3)
})

test('nothing is stored of a key but what verifies', () => {
  const stored = parseClientJwks({
    ...publicJwk('ec'),
    kid: 'a',
    use: 'enc',
    note: 'x',
    key_ops: [],
  })
  assert.deepEqual(JSON.parse(stored).keys, [{ ...publicJwk('ec'), kid: 'a', use: 'sig' }])
})

test('a private, weak, foreign or broken key is refused', () => {
  const refused: readonly unknown[] = [
    null,
    'a',
    [],
    {},
    { keys: [] },
    { keys: Array.from({ length: 11 }, () => publicJwk('ec')) },
    { keys: [publicJwk('ec'), null] },
    pairs.ec.privateKey.export({ format: 'jwk' }),
    { kty: 'oct', k: 'AAAA' },
    { ...publicJwk('ec'), alg: 'HS256' },
    { ...publicJwk('ec'), x: 'AAAA' },
    { ...publicJwk('ec'), x: undefined },
    generateKeyPairSync('ec', { namedCurve: 'P-384' }).publicKey.export({ format: 'jwk' }),
    generateKeyPairSync('x25519').publicKey.export({ format: 'jwk' }),
    generateKeyPairSync('rsa', { modulusLength: 1_024 }).publicKey.export({ format: 'jwk' }),
  ]
  for (const value of refused) assert.throws(() => parseClientJwks(value), TypeError)
})

test('the client that a token request claims is found in every form of authentication', () => {
  const form = (fields: Record<string, string>) =>
    Buffer.from(new URLSearchParams(fields).toString())
  const payload = Buffer.from(JSON.stringify({ sub: 'acme' })).toString('base64url')
  assert.equal(claimedClientId(undefined, form({ client_id: 'acme' })), 'acme')
  assert.equal(claimedClientId(basic('acme'), form({})), 'acme')
  assert.equal(claimedClientId(basic('a%2Fb'), form({})), 'a/b')
  assert.equal(claimedClientId(undefined, form({ client_assertion: `e30.${payload}.x` })), 'acme')
  for (const nobody of [{}, { client_id: 'x'.repeat(65) }, { client_assertion: 'a.b.c' }]) {
    assert.equal(claimedClientId('Bearer x', form(nobody)), undefined)
  }
})

test('a scope belongs to one listener', () => {
  assert.deepEqual(scopesOf('private'), ['authorizations.write', 'admin'])
  assert.equal(scopesOf('public').length + 2, scopesOf().length)
  assert.equal(isScope('toString'), false)
})
