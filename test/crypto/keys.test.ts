/**
 * Keys, and what is enciphered under them: what they must be, by length, spelling and strength, and
 * what they do.
 */
import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { test } from 'node:test'
import fc from 'fast-check'
import { openAesGcm, sealAesGcm } from '../../src/crypto/aes-gcm.ts'
import { tdesCmac } from '../../src/crypto/cmac.ts'
import { type AgreementJwk, readAgreementJwk } from '../../src/crypto/key-agreement.ts'
import { aesKeyCheckValue, tdesKeyCheckValue } from '../../src/crypto/key-check-value.ts'
import { xor } from '../../src/crypto/refusal.ts'
import { removeOaepPadding } from '../../src/crypto/rsa-oaep-padding.ts'
import {
  decipherTdesCbc,
  decipherTdesEcb,
  encipherTdesCbc,
  encipherTdesEcb,
  expandTdesKey,
} from '../../src/crypto/tdes.ts'
import {
  combineComponents,
  hasEqualParts,
  hasOddParity,
  isWeakDesKey,
  isWeakTdesKey,
  setOddParity,
} from '../../src/crypto/tdes-keys.ts'
import { bytes, fewerCases, refused } from './arbitraries.ts'

const key = Buffer.alloc(32, 7)
const iv = Buffer.alloc(12, 1)

test('a sealed text opens, and does not open with any bit of it changed', () => {
  const everything = fc.tuple(bytes(32), bytes(12), fc.uint8Array(), fc.uint8Array(), fc.nat())
  fc.assert(
    fc.property(everything, ([secret, nonce, associated, plaintext, place]) => {
      const sealed = sealAesGcm(secret, nonce, associated, plaintext)
      assert.deepEqual(openAesGcm(secret, nonce, associated, sealed), Buffer.from(plaintext))
      const changed = Buffer.concat([sealed.ciphertext, sealed.tag])
      const at = place % changed.length
      changed[at] = (changed[at] ?? 0) ^ (1 << (place % 8))
      const forged = { ciphertext: changed.subarray(0, -16), tag: changed.subarray(-16) }
      refused('aes_gcm_refused', () => openAesGcm(secret, nonce, associated, forged))
    }),
    fewerCases,
  )
})

test('a tag that was cut to any length is refused', () => {
  const { ciphertext, tag } = sealAesGcm(key, iv, Buffer.alloc(0), Buffer.from('4000001234567899'))
  for (const length of tag.keys()) {
    const cut = { ciphertext, tag: tag.subarray(0, length) }
    refused('aes_gcm_refused', () => openAesGcm(key, iv, Buffer.alloc(0), cut))
  }
})

test('a sealed PAN does not open with the associated data of another card', () => {
  const sealed = sealAesGcm(key, iv, Buffer.from('4820117360'), Buffer.from('4000001234567899'))
  refused('aes_gcm_refused', () => openAesGcm(key, iv, Buffer.from('4820117361'), sealed))
})

test('AES-GCM takes keys of 32 bytes and IVs of 12, and no others', () => {
  for (const length of [0, 16, 24, 31, 33]) {
    refused('aes_gcm_refused', () => sealAesGcm(Buffer.alloc(length), iv, iv, iv))
  }
  for (const length of [0, 8, 11, 13, 16]) {
    refused('aes_gcm_refused', () => sealAesGcm(key, Buffer.alloc(length), iv, iv))
  }
})

test('a single-length key stands for single DES', () => {
  // The worked example of the DES algorithm in NBS SP 500-20.
  const single = Buffer.from('10316e028c8f3b4a', 'hex')
  const ciphertext = encipherTdesEcb(single, Buffer.alloc(8))
  assert.equal(ciphertext.toString('hex'), '82dcbafbdeab6602')
  assert.deepEqual(decipherTdesEcb(single, ciphertext), Buffer.alloc(8))
})

test('TDES-CMAC gives the published values for whole, part and no blocks', () => {
  // NIST SP 800-38B, examples D.4: three-key TDEA.
  const tdea = Buffer.from('8aa83bf8cbda10620bc1bf19fbb6cd58bc313d4a371ca8b5', 'hex')
  const message = '6bc1bee22e409f96e93d7e117393172aae2d8a571e03ac9c9eb76fac45af8e51'
  const macs: readonly (readonly [number, string])[] = [
    [0, 'b7a688e122ffaf95'],
    [8, '8e8f293136283797'],
    [20, '743ddbe0ce2dc2ed'],
    [32, '33e6b1092400eae5'],
  ]
  for (const [length, mac] of macs) {
    const part = Buffer.from(message, 'hex').subarray(0, length)
    assert.equal(tdesCmac(tdea, part).toString('hex'), mac)
  }
})

test('setting odd parity makes it odd and changes no check value', () => {
  fc.assert(
    fc.property(bytes(8, 16, 24), (secret) => {
      const adjusted = setOddParity(secret)
      assert.ok(hasOddParity(adjusted))
      assert.deepEqual(tdesKeyCheckValue(adjusted), tdesKeyCheckValue(secret))
    }),
    fewerCases,
  )
})

test('a check value has the length asked for, and no key gives one of none', () => {
  assert.equal(aesKeyCheckValue(key).length, 5)
  assert.equal(tdesKeyCheckValue(key.subarray(0, 16)).length, 3)
  for (const length of [0, -1, 1.5, 17, Number.NaN]) {
    refused('key_check_value_refused', () => aesKeyCheckValue(key, length))
  }
  refused('key_check_value_refused', () => tdesKeyCheckValue(key))
})

test('a key needs at least two components, of one length', () => {
  const part = Buffer.alloc(16, 1)
  assert.deepEqual(combineComponents([part, part, key.subarray(0, 16)]), Buffer.alloc(16, 7))
  for (const components of [[], [part], [part, key], [Buffer.alloc(0), Buffer.alloc(0)]]) {
    refused('key_components_refused', () => combineComponents(components))
  }
})

test('weak and semi-weak DES keys are known whatever their parity', () => {
  const weak = ['0101010101010101', '0000000000000000', 'e0fee0fef1fef1fe', 'e1ffe1fff0fff0ff']
  for (const secret of weak) assert.ok(isWeakDesKey(Buffer.from(secret, 'hex')))
  assert.ok(!isWeakDesKey(Buffer.from('0123456789abcdef', 'hex')))
  assert.ok(!isWeakDesKey(Buffer.alloc(16)))
})

test('a weak or semi-weak DES key undoes itself or its partner', () => {
  const partners = [
    ['fefefefefefefefe', 'fefefefefefefefe'],
    ['01fe01fe01fe01fe', 'fe01fe01fe01fe01'],
    ['1fe01fe00ef10ef1', 'e01fe01ff10ef10e'],
    ['01e001e001f101f1', 'e001e001f101f101'],
    ['1ffe1ffe0efe0efe', 'fe1ffe1ffe0efe0e'],
    ['011f011f010e010e', '1f011f010e010e01'],
    ['e0fee0fef1fef1fe', 'fee0fee0fef1fef1'],
  ]
  for (const pair of partners) {
    const [one = key, other = key] = pair.map((secret) => Buffer.from(secret, 'hex'))
    assert.ok(isWeakDesKey(one) && isWeakDesKey(other))
    assert.deepEqual(encipherTdesEcb(other, encipherTdesEcb(one, Buffer.alloc(8))), Buffer.alloc(8))
  }
})

test('a TDES key whose halves differ in parity only is no TDES key', () => {
  const halves = Buffer.from('0123456789abcdef0022446688aaccee', 'hex')
  assert.ok(hasEqualParts(halves) && isWeakTdesKey(halves))
  const sound = Buffer.from('0123456789abcdeffedcba9876543210', 'hex')
  assert.ok(!hasEqualParts(sound) && !isWeakTdesKey(sound))
  assert.ok(isWeakTdesKey(Buffer.concat([sound.subarray(0, 8), Buffer.alloc(8, 0xfe)])))
})

const sevens = (length: number): Buffer => Buffer.alloc(length, 7)

test('TDES takes keys of one, two or three parts, and no other', () => {
  for (const length of [0, 7, 9, 15, 17, 23, 25, 32]) {
    refused('tdes_refused', () => expandTdesKey(sevens(length)))
    refused('tdes_refused', () => encipherTdesEcb(sevens(length), sevens(8)))
  }
  for (const length of [8, 16, 24]) assert.equal(expandTdesKey(sevens(length)).length, 24)
  const parts = Buffer.from('0123456789abcdeffedcba987654321000112233445566', 'hex')
  assert.deepEqual(expandTdesKey(parts.subarray(0, 16)).subarray(16), parts.subarray(0, 8))
})

test('TDES takes whole blocks, and an IV of one', () => {
  for (const length of [1, 7, 9, 15]) {
    for (const ecb of [encipherTdesEcb, decipherTdesEcb]) {
      refused('tdes_refused', () => ecb(sevens(16), sevens(length)))
    }
    for (const cbc of [encipherTdesCbc, decipherTdesCbc]) {
      refused('tdes_refused', () => cbc(sevens(16), sevens(8), sevens(length)))
      refused('tdes_refused', () => cbc(sevens(16), sevens(length), sevens(8)))
    }
  }
  for (const cbc of [encipherTdesCbc, decipherTdesCbc]) {
    refused('tdes_refused', () => cbc(sevens(16), sevens(0), sevens(8)))
    assert.equal(cbc(sevens(16), sevens(8), sevens(16)).length, 16)
  }
})

test('each of the weak DES keys is known: it undoes itself', () => {
  for (const weak of ['01'.repeat(8), 'fe'.repeat(8), 'e0e0e0e0f1f1f1f1', '1f1f1f1f0e0e0e0e']) {
    const key = Buffer.from(weak, 'hex')
    assert.ok(isWeakDesKey(key), weak)
    assert.deepEqual(encipherTdesEcb(key, encipherTdesEcb(key, sevens(8))), sevens(8))
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

test('a padded message too short for its hash and its seed is refused', () => {
  for (const length of [0, 1, 20, 32, 33, 64, 65]) {
    refused('rsa_oaep_refused', () => removeOaepPadding(Buffer.alloc(length)))
  }
})

test('only byte strings of one length are combined', () => {
  for (const [left, right] of [
    [8, 7],
    [7, 8],
    [0, 1],
  ] as const) {
    assert.throws(() => xor(sevens(left), sevens(right)), /equal lengths/)
  }
  assert.deepEqual(xor(sevens(3), sevens(3)), Buffer.alloc(3))
})
