import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { openAesGcm, sealAesGcm } from '../../src/crypto/aes-gcm.ts'
import { tdesCmac } from '../../src/crypto/cmac.ts'
import { aesKeyCheckValue, tdesKeyCheckValue } from '../../src/crypto/key-check-value.ts'
import { decipherTdesEcb, encipherTdesEcb } from '../../src/crypto/tdes.ts'
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

test('what was sealed opens, and with any bit of it changed it does not', () => {
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
