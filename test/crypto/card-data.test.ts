import assert from 'node:assert/strict'
import {
  createDecipheriv,
  createPublicKey,
  generateKeyPairSync,
  type JsonWebKey,
  randomBytes,
} from 'node:crypto'
import { test } from 'node:test'
import { calculateJwkThumbprint, compactDecrypt, decodeProtectedHeader } from 'jose'
import { encipherPaddedAesCbc } from '../../src/crypto/aes.ts'
import { sealJwe } from '../../src/crypto/jwe.ts'
import {
  type AgreementJwk,
  agreeEphemerally,
  jwkThumbprint,
  readAgreementJwk,
} from '../../src/crypto/key-agreement.ts'
import { refused } from './arbitraries.ts'

const hex = (text: string): Buffer => Buffer.from(text.replaceAll(/\s/g, ''), 'hex')

// SP 800-38A F.2.5, CBC-AES256.Encrypt.
const published = {
  key: hex('603deb1015ca71be2b73aef0857d7781 1f352c073b6108d72d9810a30914dff4'),
  iv: hex('000102030405060708090a0b0c0d0e0f'),
  clear: hex(`6bc1bee22e409f96e93d7e117393172a ae2d8a571e03ac9c9eb76fac45af8e51
    30c81c46a35ce411e5fbc1191a0a52ef f69f2445df4f9b17ad2b417be66c3710`),
  ciphertext: hex(`f58c4c04d6e5f1ba779eabfb5f7bfbd6 9cfc4e967edb808d679f777bc6702c7d
    39f23369a9d9bacfa530e26304231461 b2eb05e2c39be9fcda6c19078c6a9d1b`),
} as const

test('AES-256 in CBC mode gives the published ciphertext, and a block of padding after it', () => {
  const { ciphertext, clear, iv, key } = published
  const enciphered = encipherPaddedAesCbc(key, iv, clear)
  assert.deepEqual(enciphered.subarray(0, 64), ciphertext)
  assert.equal(enciphered.length, 80)
})

test('the padding is as many bytes as there are, each the number of them, whatever the length', () => {
  const [key, iv] = [randomBytes(32), randomBytes(16)]
  for (let length = 0; length <= 33; length += 1) {
    const clear = randomBytes(length)
    const decipher = createDecipheriv('aes-256-cbc', key, iv).setAutoPadding(false)
    const enciphered = encipherPaddedAesCbc(key, iv, clear)
    const padded = Buffer.concat([decipher.update(enciphered), decipher.final()])
    const count = 16 - (length % 16)
    assert.deepEqual(padded, Buffer.concat([clear, Buffer.alloc(count, count)]))
  }
})

test('a key or iv of another length enciphers nothing', () => {
  const { clear, iv, key } = published
  for (const short of [key.subarray(0, 16), key.subarray(0, 24), Buffer.alloc(33)]) {
    refused('aes_refused', () => encipherPaddedAesCbc(short, iv, clear))
  }
  refused('aes_refused', () => encipherPaddedAesCbc(key, iv.subarray(1), clear))
})

const headerOf = (jwe: string) => decodeProtectedHeader(jwe) as unknown as { epk: JsonWebKey }

const pairs = {
  'P-256': () => generateKeyPairSync('ec', { namedCurve: 'P-256' }),
  X25519: () => generateKeyPairSync('x25519'),
} as const

for (const [curve, makePair] of Object.entries(pairs)) {
  test(`what is sealed to a key on ${curve} another implementation opens, and it says no more than it must`, async () => {
    const { privateKey, publicKey } = makePair()
    const jwk = publicKey.export({ format: 'jwk' }) as unknown as AgreementJwk
    const seal = () =>
      sealJwe(agreeEphemerally(readAgreementJwk(jwk)), 'JWT', Buffer.from('a card'))
    const [first, second] = [seal(), seal()]
    for (const jwe of [first, second]) {
      const { plaintext } = await compactDecrypt(jwe, privateKey)
      assert.equal(Buffer.from(plaintext).toString(), 'a card')
      const { epk, ...header } = headerOf(jwe)
      assert.deepEqual(header, { alg: 'ECDH-ES', enc: 'A256GCM', cty: 'JWT' })
      assert.deepEqual([epk.crv, epk.d], [curve, undefined])
    }
    assert.notEqual(headerOf(first).epk.x, headerOf(second).epk.x)
  })

  test(`a thumbprint on ${curve} is the one that another implementation makes, whatever else the key says`, async () => {
    const jwk = makePair().publicKey.export({ format: 'jwk' }) as unknown as AgreementJwk
    const withMore = Object.assign({ kid: 'a', use: 'enc' }, jwk)
    assert.equal(jwkThumbprint(withMore), await calculateJwkThumbprint(jwk))
  })
}

test('a thumbprint on P-256 is the published one', () => {
  // RFC 9449, sections 4.1 and 6.1.
  const jwk = {
    kty: 'EC',
    crv: 'P-256',
    x: 'l8tFrhx-34tV3hRICRDY9zCkDlpBhF42UQUfWVAWBFs',
    y: '9VE4jf_Ok_o64zbTTlcuNJajHmt6v9TDVrU0CdvGRDA',
  } as const
  assert.equal(jwkThumbprint(jwk), '0ZcOCORZNYy-DWpqq30jZyJGHTN0d2HglBV3uiguA4I')
  assert.equal(readAgreementJwk(jwk).asymmetricKeyType, 'ec')
})

test('a point of small order, and a key on another curve, agree on nothing', () => {
  // RFC 7748, section 6.1: of these the secret is zero, whatever the other key.
  const smallOrder = [
    '0000000000000000000000000000000000000000000000000000000000000000',
    '0100000000000000000000000000000000000000000000000000000000000000',
    'e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800',
    '5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157',
    'ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f',
  ]
  for (const point of smallOrder) {
    const jwk = { kty: 'OKP', crv: 'X25519', x: hex(point).toString('base64url') } as const
    refused('agreement_refused', () => agreeEphemerally(readAgreementJwk(jwk)))
  }
  const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-384' })
  refused('agreement_refused', () =>
    agreeEphemerally(createPublicKey(publicKey.export({ format: 'pem', type: 'spki' }))),
  )
})

test('a point off its curve, and a coordinate that is misspelt, short or long, are no key', () => {
  const { x = '', y = '' } = pairs['P-256']().publicKey.export({ format: 'jwk' })
  const one = Buffer.alloc(32, 1).toString('base64url')
  const spellings = [`${x}=`, x.slice(1), `${x}A`, '', `${x.slice(0, -1)}*`]
  for (const wrong of [
    { x, y: one },
    { x: y, y: x },
    ...spellings.map((text) => ({ x: text, y })),
  ]) {
    refused('public_jwk_refused', () => readAgreementJwk({ kty: 'EC', crv: 'P-256', ...wrong }))
  }
})
