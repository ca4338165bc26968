import assert from 'node:assert/strict'
import { createPublicKey, diffieHellman, generateKeyPairSync, type KeyObject } from 'node:crypto'
import { test } from 'node:test'
import { decipherAesCbc, encipherAesCbc, encipherAesEcb } from '../../src/crypto/aes.ts'
import { openAesGcm, sealAesGcm } from '../../src/crypto/aes-gcm.ts'
import { agreeEphemerally, concatKdf } from '../../src/crypto/key-agreement.ts'
import { deriveKeysByMac } from '../../src/crypto/key-block-derivation.ts'
import { parseKeyBlockHeader, readKeyBlockHeader } from '../../src/crypto/key-block-header.ts'
import { decodePinBlockFormat1 } from '../../src/crypto/pin-block-format-1.ts'
import { decodePinFieldFormat4, pinFieldFormat4 } from '../../src/crypto/pin-block-format-4.ts'
import { CryptoRefusal, isDigits } from '../../src/crypto/refusal.ts'
import { combineComponents } from '../../src/crypto/tdes-keys.ts'
import { openJwe } from '../reference/open-jwe.ts'
import { refused } from './arbitraries.ts'

const bytes = (length: number): Buffer => Buffer.alloc(length, 7)

test('AES takes keys, blocks and IVs of its own lengths alone', () => {
  for (const length of [0, 15, 17, 33, 64]) {
    refused('aes_refused', () => encipherAesEcb(bytes(length), bytes(16)))
  }
  for (const length of [1, 15, 17]) {
    refused('aes_refused', () => encipherAesEcb(bytes(16), bytes(length)))
    for (const cbc of [encipherAesCbc, decipherAesCbc]) {
      refused('aes_refused', () => cbc(bytes(16), bytes(16), bytes(length)))
      refused('aes_refused', () => cbc(bytes(16), bytes(length), bytes(16)))
    }
  }
})

test('AES-GCM seals under 32 bytes with an IV of 12, and opens no other', () => {
  const sealed = sealAesGcm(bytes(32), bytes(12), bytes(0), bytes(5))
  for (const [key, iv] of [
    [16, 12],
    [32, 16],
    [32, 0],
  ] as const) {
    refused('aes_gcm_refused', () => sealAesGcm(bytes(key), bytes(iv), bytes(0), bytes(5)))
    refused('aes_gcm_refused', () => openAesGcm(bytes(key), bytes(iv), bytes(0), sealed))
  }
})

test('digits are digits from the first character to the last', () => {
  for (const text of ['12x4', 'x234', '123x', '1 34', '12\n4']) {
    assert.equal(isDigits(text, 1, 9), false)
  }
})

test('keys of a key block are derived from protection keys of the lengths that the method has', () => {
  const mac = () => bytes(16)
  for (const [method, lengths] of [
    ['tdesCmac', [0, 8, 32, 17]],
    ['aesCmac', [0, 8, 17, 64]],
  ] as const) {
    for (const length of lengths) {
      refused('key_derivation_refused', () => deriveKeysByMac(mac, length, method))
    }
  }
  const { kbak, kbek } = deriveKeysByMac(
    (message) => Buffer.concat([message, message]),
    32,
    'aesCmac',
  )
  assert.deepEqual([kbek.length, kbak.length], [32, 32])
  assert.notDeepEqual(kbek, kbak)
})

test('what has a length of its own is refused at every other, before anything is made of it', () => {
  for (const length of [0, 7, 9]) {
    refused('pin_block_refused', () => pinFieldFormat4('1234', bytes(length)))
    refused('pin_block_refused', () => decodePinFieldFormat4(bytes(length)))
    refused('pin_block_refused', () => decodePinBlockFormat1(Buffer.alloc(length, 0x14)))
  }
  const party = bytes(0)
  const longest = { algorithm: 'A256GCM', apu: party, apv: party, keyBits: 512 }
  assert.equal(concatKdf(bytes(32), longest).length, 64)
})

test('components of one key have one length, each of them', () => {
  for (const lengths of [
    [16, 16, 8],
    [16, 8, 16],
    [8, 16, 16],
  ]) {
    refused('key_components_refused', () => combineComponents(lengths.map(bytes)))
  }
})

test('a header of a key block stands alone, and begins where its text begins', () => {
  const header = 'D0016P0TE00N0000'
  assert.equal(parseKeyBlockHeader(header).keyUsage, 'P0')
  for (const text of [`${header}x`, `x${header}`, header.slice(0, 15), `${header}0000`, '']) {
    refused('key_block_refused', () => parseKeyBlockHeader(text))
  }
  refused('key_block_refused', () => readKeyBlockHeader(`x${header}`))
  // One optional block: whole, cut short, longer than the text, of no length, with a bad id.
  const withBlock = (block: string) => `D0024P0TE00N0100${block}`
  assert.equal(parseKeyBlockHeader(withBlock('KS08abcd')).optionalBlocks.length, 1)
  for (const block of [
    'KS08abc',
    'KS09abcd',
    'KS03abcd',
    'K-08abcd',
    '-KS08abcd',
    'KS0aabcdef',
    '',
  ]) {
    refused('key_block_refused', () => parseKeyBlockHeader(withBlock(block)))
  }
})

test('a secret is agreed on with keys of two curves, and not with a point of small order', () => {
  const agreed = ({ privateKey, publicKey }: { privateKey: KeyObject; publicKey: KeyObject }) => {
    const { ephemeralJwk, sharedSecret } = agreeEphemerally(publicKey)
    const theirs = createPublicKey({ key: { ...ephemeralJwk }, format: 'jwk' })
    assert.deepEqual(diffieHellman({ privateKey, publicKey: theirs }), sharedSecret)
    return ephemeralJwk
  }
  const zero = { kty: 'OKP', crv: 'X25519', x: Buffer.alloc(32).toString('base64url') }
  const smallOrder = createPublicKey({ key: zero, format: 'jwk' })
  refused('agreement_refused', () => agreeEphemerally(smallOrder))
  for (let time = 0; time < 40; time += 1) {
    assert.equal(agreed(generateKeyPairSync('x25519')).crv, 'X25519')
    assert.equal(agreed(generateKeyPairSync('ec', { namedCurve: 'P-256' })).crv, 'P-256')
  }
  for (const { publicKey } of [
    generateKeyPairSync('ec', { namedCurve: 'P-384' }),
    generateKeyPairSync('ed25519'),
    generateKeyPairSync('rsa', { modulusLength: 1024 }),
  ]) {
    refused('agreement_refused', () => agreeEphemerally(publicKey))
  }
})

const recipient = generateKeyPairSync('ec', { namedCurve: 'P-256' })

/** A JWE whose tag fits its header, whatever the header is: only the rules can refuse it. */
const sealUnder = (
  change: (header: Record<string, unknown>, privateJwk: object) => unknown,
  tamper: (parts: string[]) => string[] = (parts) => parts,
): string => {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const epk = publicKey.export({ format: 'jwk' })
  const plain = { alg: 'ECDH-ES', enc: 'A256GCM', epk }
  const text = JSON.stringify(change(plain, privateKey.export({ format: 'jwk' })))
  const header = Buffer.from(text).toString('base64url')
  const secret = diffieHellman({ privateKey, publicKey: recipient.publicKey })
  const party = Buffer.alloc(0)
  const key = concatKdf(secret, { algorithm: 'A256GCM', apu: party, apv: party, keyBits: 256 })
  const { ciphertext, tag } = sealAesGcm(key, bytes(12), Buffer.from(header), Buffer.from('told'))
  const parts = [bytes(12), ciphertext, tag].map((part) => part.toString('base64url'))
  return tamper([header, '', ...parts]).join('.')
}

test('a JWE that its sender sealed rightly is refused for its header or form alone', () => {
  const open = (jwe: string) => openJwe(jwe, recipient.privateKey)
  assert.equal(open(sealUnder((header) => header)).plaintext.toString(), 'told')
  for (const known of ['typ', 'cty', 'kid']) {
    assert.equal(open(sealUnder((header) => ({ ...header, [known]: 'x' }))).header[known], 'x')
  }
  const epks = (change: object) =>
    sealUnder(({ epk, ...header }) => ({ ...header, epk: { ...Object(epk), ...change } }))
  const faults = [
    sealUnder((header) => ({ ...header, zip: 'DEF' })),
    sealUnder((header) => ({ ...header, '': 'x' })),
    sealUnder((header) => [header]),
    sealUnder(() => null),
    sealUnder(() => 'header'),
    sealUnder((header) => ({ ...header, alg: undefined })),
    sealUnder((header) => ({ ...header, enc: 'A128GCM' })),
    sealUnder((header) => ({ ...header, apu: 7 })),
    sealUnder((header) => ({ ...header, apv: null })),
    sealUnder((header, epk) => ({ ...header, epk })),
    sealUnder(({ epk, ...header }) => ({ ...header, epk: [epk] })),
    sealUnder((header) => ({ ...header, epk: null })),
    ...[{ kty: 'OKP' }, { crv: 'P-384' }, { kty: undefined }, { crv: undefined }, { d: null }].map(
      epks,
    ),
    ...[{ x: undefined }, { y: undefined }, { x: 1 }, { y: 1 }].map(epks),
    sealUnder(
      (header) => header,
      ([first = '', , ...others]) => [first, 'AA', ...others],
    ),
    sealUnder(
      (header) => header,
      (parts) => [...parts, ''],
    ),
    sealUnder(
      (header) => header,
      (parts) => parts.slice(0, 4),
    ),
    sealUnder(
      (header) => header,
      (parts) => parts.with(2, ''),
    ),
    sealUnder(
      (header) => header,
      (parts) => parts.with(4, ''),
    ),
    sealUnder(
      (header) => header,
      (parts) => parts.with(3, `${parts[3]}=`),
    ),
  ]
  for (const jwe of faults) refused('jwe_refused', () => open(jwe))
  const rsa = generateKeyPairSync('rsa', { modulusLength: 1024 }).privateKey
  refused('jwe_refused', () =>
    openJwe(
      sealUnder((header) => header),
      rsa,
    ),
  )
})

test('a refusal says what refused, and never which check', () => {
  const { code, message, name } = new CryptoRefusal('pvv_refused')
  assert.deepEqual(
    [name, code, message],
    ['CryptoRefusal', 'pvv_refused', 'The PIN verification value cannot be made.'],
  )
})
