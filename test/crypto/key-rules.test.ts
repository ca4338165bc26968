/** What keys, and what is enciphered under them, must be: lengths, spellings, strength. */
import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { test } from 'node:test'
import { requirePermittedTranslation } from '../../src/crypto/pin-translation.ts'
import { type AgreementJwk, readAgreementJwk } from '../../src/crypto/public-jwk.ts'
import { generatePvv } from '../../src/crypto/pvv.ts'
import { removeOaepPadding } from '../../src/crypto/rsa-oaep-padding.ts'
import {
  decipherTdesCbc,
  decipherTdesEcb,
  encipherTdesCbc,
  encipherTdesEcb,
  expandTdesKey,
} from '../../src/crypto/tdes.ts'
import { hasEqualParts, isWeakDesKey, isWeakTdesKey } from '../../src/crypto/weak-key.ts'
import { xor } from '../../src/crypto/xor.ts'
import { refused } from './refused.ts'

const bytes = (length: number): Buffer => Buffer.alloc(length, 7)

test('TDES takes keys of one, two or three parts, and no other', () => {
  for (const length of [0, 7, 9, 15, 17, 23, 25, 32]) {
    refused('tdes_refused', () => expandTdesKey(bytes(length)))
    refused('tdes_refused', () => encipherTdesEcb(bytes(length), bytes(8)))
  }
  for (const length of [8, 16, 24]) assert.equal(expandTdesKey(bytes(length)).length, 24)
  const parts = Buffer.from('0123456789abcdeffedcba987654321000112233445566', 'hex')
  assert.deepEqual(expandTdesKey(parts.subarray(0, 16)).subarray(16), parts.subarray(0, 8))
})

test('TDES takes whole blocks, and an IV of one', () => {
  for (const length of [1, 7, 9, 15]) {
    for (const ecb of [encipherTdesEcb, decipherTdesEcb]) {
      refused('tdes_refused', () => ecb(bytes(16), bytes(length)))
    }
    for (const cbc of [encipherTdesCbc, decipherTdesCbc]) {
      refused('tdes_refused', () => cbc(bytes(16), bytes(8), bytes(length)))
      refused('tdes_refused', () => cbc(bytes(16), bytes(length), bytes(8)))
    }
  }
  for (const cbc of [encipherTdesCbc, decipherTdesCbc]) {
    refused('tdes_refused', () => cbc(bytes(16), bytes(0), bytes(8)))
    assert.equal(cbc(bytes(16), bytes(8), bytes(16)).length, 16)
  }
})

test('each of the weak DES keys is known: it undoes itself', () => {
  for (const weak of ['01'.repeat(8), 'fe'.repeat(8), 'e0e0e0e0f1f1f1f1', '1f1f1f1f0e0e0e0e']) {
    const key = Buffer.from(weak, 'hex')
    assert.ok(isWeakDesKey(key), weak)
    assert.deepEqual(encipherTdesEcb(key, encipherTdesEcb(key, bytes(8))), bytes(8))
  }
})

test('a TDES key is weak by any two neighbouring parts that are equal, and not by the outer two', () => {
  const [one, two, three] = ['0123456789abcdef', 'fedcba9876543210', '1122334455667788'].map(
    (part) => Buffer.from(part, 'hex'),
  ) as [Buffer, Buffer, Buffer]
  for (const parts of [
    [one, one, two],
    [one, two, two],
    [one, one],
  ]) {
    assert.ok(hasEqualParts(Buffer.concat(parts)) && isWeakTdesKey(Buffer.concat(parts)))
  }
  for (const parts of [
    [one, two, one],
    [one, two, three],
  ]) {
    assert.ok(!hasEqualParts(Buffer.concat(parts)) && !isWeakTdesKey(Buffer.concat(parts)))
  }
})

test('a coordinate of a public key has 32 bytes, even where fewer or more are the same number', () => {
  const hasShortX = (): AgreementJwk & { kty: 'EC' } => {
    // One key in 256 has an x that begins with a zero byte.
    for (let tries = 0; tries < 20_000; tries += 1) {
      const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
      const jwk = publicKey.export({ format: 'jwk' }) as unknown as AgreementJwk & { kty: 'EC' }
      if (Buffer.from(jwk.x, 'base64url')[0] === 0) return jwk
    }
    throw new Error('No key has an x that begins with a zero byte.')
  }
  const jwk = hasShortX()
  assert.equal(readAgreementJwk(jwk).asymmetricKeyType, 'ec')
  const short = Buffer.from(jwk.x, 'base64url').subarray(1).toString('base64url')
  const longer = (text: string) =>
    Buffer.concat([Buffer.alloc(1), Buffer.from(text, 'base64url')]).toString('base64url')
  for (const change of [{ x: short }, { x: longer(jwk.x) }, { y: longer(jwk.y) }]) {
    refused('public_jwk_refused', () => readAgreementJwk({ ...jwk, ...change }))
  }
})

test('a coordinate of a public key has one spelling', () => {
  const misspelt = (text: string) => [
    `${text}=`,
    `${text}\n`,
    `${text.slice(0, 9)} ${text.slice(9)}`,
  ]
  const { x = '', y = '' } = generateKeyPairSync('ec', {
    namedCurve: 'P-256',
  }).publicKey.export({ format: 'jwk' })
  for (const text of misspelt(y)) {
    refused('public_jwk_refused', () => readAgreementJwk({ kty: 'EC', crv: 'P-256', x, y: text }))
  }
  const { x: u = '' } = generateKeyPairSync('x25519').publicKey.export({ format: 'jwk' })
  for (const text of [...misspelt(u), u.slice(0, 40), `${u}AAAA`]) {
    refused('public_jwk_refused', () => readAgreementJwk({ kty: 'OKP', crv: 'X25519', x: text }))
  }
})

test('a PVV is made under no key of another length', () => {
  const inputs = { pan: '4123456789012345', pvki: '1', pin: '1234' }
  for (const length of [0, 7, 15, 17, 32]) {
    refused('pvv_refused', () => generatePvv(bytes(length), inputs))
  }
})

test('a padded message too short for its hash and its seed is refused', () => {
  for (const length of [0, 1, 20, 32, 33, 64, 65]) {
    refused('rsa_oaep_refused', () => removeOaepPadding(Buffer.alloc(length)))
  }
})

test('a block that is bound to no PAN may be bound to one', () => {
  for (const toFormat of [0, 1, 3, 4]) {
    const translation = { fromFormat: 1, toFormat, toPan: '4111111111111111' }
    assert.equal(requirePermittedTranslation(translation), '')
  }
})

test('only byte strings of one length are combined', () => {
  for (const [left, right] of [
    [8, 7],
    [7, 8],
    [0, 1],
  ] as const) {
    assert.throws(() => xor(bytes(left), bytes(right)), /equal lengths/)
  }
  assert.deepEqual(xor(bytes(3), bytes(3)), Buffer.alloc(3))
})
