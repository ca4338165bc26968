import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { test } from 'node:test'
import { CompactEncrypt } from 'jose'
import { concatKdf } from '../../src/crypto/key-agreement.ts'
import { openJwe } from '../reference/open-jwe.ts'
import { refused } from './arbitraries.ts'

const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const typ = 'set-pin+jwe'
const header = { alg: 'ECDH-ES', enc: 'A256GCM', typ }
const content = '{"pin":"4821"}'

const seal = (protectedHeader: { alg: string; enc: string; [name: string]: string }) =>
  new CompactEncrypt(Buffer.from(content)).setProtectedHeader(protectedHeader).encrypt(publicKey)

/**
 * The same JWE with its protected header changed; the tag no longer fits, but first things first.
 */
function withHeader(jwe: string, change: (header: Record<string, unknown>) => unknown): string {
  const [first = '', ...others] = jwe.split('.')
  const changed = change(JSON.parse(Buffer.from(first, 'base64url').toString()))
  return [Buffer.from(JSON.stringify(changed)).toString('base64url'), ...others].join('.')
}

test('what another implementation sealed to the key opens', async () => {
  const opened = openJwe(await seal({ ...header, kid: 'pin-1' }), privateKey, { typ })
  assert.equal(opened.plaintext.toString(), content)
  assert.equal(opened.header.kid, 'pin-1')
})

test('party information goes into the key', async () => {
  const jwe = await new CompactEncrypt(Buffer.from(content))
    .setProtectedHeader(header)
    .setKeyManagementParameters({ apu: Buffer.from('Alice'), apv: Buffer.from('Bob') })
    .encrypt(publicKey)
  assert.equal(openJwe(jwe, privateKey).plaintext.toString(), content)
})

test('the key is used with its own algorithms, whatever the header says', async () => {
  for (const enc of ['A128GCM', 'A192GCM', 'A128CBC-HS256', 'A256CBC-HS512']) {
    const jwe = await seal({ ...header, enc })
    refused('jwe_refused', () => openJwe(jwe, privateKey))
  }
  const wrapped = await seal({ ...header, alg: 'ECDH-ES+A256KW' })
  refused('jwe_refused', () => openJwe(wrapped, privateKey))
})

test('a header without the required type, or with another, is refused', async () => {
  for (const other of [{}, { typ: 'JWT' }]) {
    const jwe = await seal({ alg: 'ECDH-ES', enc: 'A256GCM', ...other })
    refused('jwe_refused', () => openJwe(jwe, privateKey, { typ }))
  }
})

test('compression, critical extensions and unknown members are refused', async () => {
  const jwe = await seal(header)
  for (const member of [{ zip: 'DEF' }, { crit: ['exp'] }, { jwk: {} }, { p2c: 1 }]) {
    const changed = withHeader(jwe, (own) => ({ ...own, ...member }))
    refused('jwe_refused', () => openJwe(changed, privateKey))
  }
})

test('an ephemeral key that is missing, private, off the curve or on another one is refused', async () => {
  const jwe = await seal(header)
  const point = Buffer.alloc(32, 1).toString('base64url')
  const other = generateKeyPairSync('ec', { namedCurve: 'P-384' }).publicKey
  const faults = [
    undefined,
    null,
    'x',
    { kty: 'EC', crv: 'P-256' },
    { kty: 'EC', crv: 'P-256', x: point, y: point },
    { kty: 'EC', crv: 'P-256', x: '', y: '' },
    other.export({ format: 'jwk' }),
    privateKey.export({ format: 'jwk' }),
    { kty: 'OKP', crv: 'X25519', x: point },
  ]
  for (const epk of faults) {
    const changed = withHeader(jwe, (own) => ({ ...own, epk }))
    refused('jwe_refused', () => openJwe(changed, privateKey))
  }
})

test('a JWE with any character changed, cut or added is refused', async () => {
  const jwe = await seal(header)
  for (const [at, character] of [...jwe].entries()) {
    const other = character === 'A' ? 'B' : 'A'
    refused('jwe_refused', () => openJwe(jwe.slice(0, at) + other + jwe.slice(at + 1), privateKey))
    refused('jwe_refused', () => openJwe(jwe.slice(0, at), privateKey))
  }
  for (const more of ['=', '.', 'A', ' ']) {
    refused('jwe_refused', () => openJwe(jwe + more, privateKey))
  }
})

test('a key on another curve opens nothing', async () => {
  const jwe = await seal(header)
  for (const namedCurve of ['P-384', 'P-256']) {
    const other = generateKeyPairSync('ec', { namedCurve }).privateKey
    refused('jwe_refused', () => openJwe(jwe, other))
  }
})

test('the concat KDF gives the published key', () => {
  // RFC 7518 appendix C.
  const sharedSecret = '9e56d91d817135d372834283bf84269cfb316ea3da806a48f6daa7798cfe90c4'
  const key = concatKdf(Buffer.from(sharedSecret, 'hex'), {
    algorithm: 'A128GCM',
    apu: Buffer.from('Alice'),
    apv: Buffer.from('Bob'),
    keyBits: 128,
  })
  assert.equal(key.toString('base64url'), 'VqqN6vgjbSBcIijNcacQGg')
})

test('a key of no bits, of part bytes or of more than the KDF is used for is refused', () => {
  const empty = Buffer.alloc(0)
  for (const keyBits of [0, -8, 7, 520, Number.NaN]) {
    const inputs = { algorithm: 'A256GCM', apu: empty, apv: empty, keyBits }
    refused('key_derivation_refused', () => concatKdf(empty, inputs))
  }
})
