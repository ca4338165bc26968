import assert from 'node:assert/strict'
import {
  constants,
  createHash,
  createPrivateKey,
  generateKeyPairSync,
  type KeyObject,
  privateDecrypt,
  publicEncrypt,
  randomBytes,
} from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { test } from 'node:test'
import fc from 'fast-check'
import { compactDecrypt, type JWK } from 'jose'
import { removeOaepPadding } from '../../src/crypto/rsa-oaep-padding.ts'
import { xor } from '../../src/crypto/xor.ts'
import { cases } from '../support/cases.ts'
import { bytes } from './arbitraries.ts'
import { refused } from './refused.ts'

const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
const modulusLength = 256
const messageMax = modulusLength - 2 * 32 - 2
const oaep = { oaepHash: 'sha256', padding: constants.RSA_PKCS1_OAEP_PADDING }
const sha256 = (...parts: readonly Uint8Array[]) =>
  createHash('sha256').update(Buffer.concat(parts)).digest()

/** The bare RSA operation, as a token does it. */
const bare = (key: KeyObject, ciphertext: Uint8Array) =>
  privateDecrypt({ key, padding: constants.RSA_NO_PADDING }, ciphertext)

const mgf1 = (seed: Uint8Array, length: number) =>
  Buffer.concat(
    Array.from({ length: Math.ceil(length / 32) }, (_, at) => sha256(seed, Buffer.of(0, 0, 0, at))),
  ).subarray(0, length)

/** A padded message, made of any data block: also of those that no encoder makes. */
function encode(block: Buffer, first = 0): Buffer {
  const seed = randomBytes(32)
  const maskedBlock = xor(block, mgf1(seed, block.length))
  return Buffer.concat([Buffer.of(first), xor(seed, mgf1(maskedBlock, 32)), maskedBlock])
}

const blockOf = (message: Uint8Array, label: Uint8Array = Buffer.alloc(0)) =>
  Buffer.concat([
    sha256(label),
    Buffer.alloc(messageMax - message.length),
    Buffer.of(1),
    Buffer.from(message),
  ])

/** What OpenSSL makes of a padded message: its message, or null when it refuses. */
function openedByOpenSsl(encoded: Buffer): string | null {
  const ciphertext = publicEncrypt({ key: publicKey, padding: constants.RSA_NO_PADDING }, encoded)
  try {
    return privateDecrypt({ key: privateKey, ...oaep }, ciphertext).toString('hex')
  } catch {
    return null
  }
}

function openedHere(encoded: Buffer): string | null {
  try {
    return removeOaepPadding(encoded).toString('hex')
  } catch {
    return null
  }
}

test('every message that OpenSSL pads comes back, under its label alone', () => {
  const message = fc.uint8Array({ maxLength: messageMax })
  const property = fc.property(message, bytes(0, 1, 40), (clear, label) => {
    const ciphertext = publicEncrypt({ key: publicKey, oaepLabel: label, ...oaep }, clear)
    const encoded = bare(privateKey, ciphertext)
    assert.deepEqual(removeOaepPadding(encoded, label), Buffer.from(clear))
    refused('rsa_oaep_refused', () => removeOaepPadding(encoded, Buffer.from('another')))
  })
  fc.assert(property, cases(200))
})

test('a padded message with any one byte changed under its masks is taken as OpenSSL takes it', () => {
  const change = fc.record({ at: fc.nat(messageMax + 32), by: fc.integer({ min: 1, max: 255 }) })
  const property = fc.property(fc.uint8Array({ maxLength: 8 }), change, (clear, { at, by }) => {
    const block = blockOf(clear)
    block[at] = (block[at] ?? 0) ^ by
    const encoded = encode(block)
    assert.equal(openedHere(encoded), openedByOpenSsl(encoded))
  })
  fc.assert(property, cases(1_000))
})

test('every way in which a padding can be wrong leaves by one exit', () => {
  const message = randomBytes(32)
  const good = blockOf(message)
  assert.deepEqual(removeOaepPadding(encode(good)), message)
  const noOne = Buffer.concat([sha256(), Buffer.alloc(messageMax + 1)])
  const wrong = [
    encode(good, 1),
    encode(good, 0xff),
    encode(blockOf(message, Buffer.from('a label'))),
    encode(noOne),
    encode(Buffer.concat([sha256(), Buffer.of(2), good.subarray(33)])),
    encode(Buffer.concat([Buffer.of(1), good.subarray(1)])),
    Buffer.alloc(modulusLength),
    Buffer.alloc(65),
    Buffer.alloc(0),
  ]
  for (const encoded of wrong) refused('rsa_oaep_refused', () => removeOaepPadding(encoded))
})

test('a padded message may hold nothing, and then be no longer than its hash and its seed', () => {
  const shortest = encode(Buffer.concat([sha256(), Buffer.of(1)]))
  assert.equal(shortest.length, 66)
  assert.deepEqual(removeOaepPadding(shortest), Buffer.alloc(0))
})

test('the published JWEs under RSA-OAEP-256 open by the bare operation and this padding', async () => {
  const file = new URL('../vectors/jwe.json', import.meta.url)
  const { vectors } = JSON.parse(await readFile(file, 'utf8')) as {
    vectors: readonly { inputs: { jwe: string; jwk: JWK }; expected: { error?: string } }[]
  }
  const rows = vectors.filter(
    ({ expected, inputs: { jwe } }) =>
      expected.error === undefined && algorithmOf(jwe) === 'RSA-OAEP-256',
  )
  assert.ok(rows.length > 0)
  for (const { inputs } of rows) {
    const { jwe, jwk } = inputs
    const key = createPrivateKey({ key: { ...jwk }, format: 'jwk' })
    const encryptedKey = Buffer.from(jwe.split('.')[1] ?? '', 'base64url')
    const contentKey = removeOaepPadding(bare(key, encryptedKey))
    assert.deepEqual(contentKey, privateDecrypt({ key, ...oaep }, encryptedKey))
    await compactDecrypt(jwe, key)
  }
})

function algorithmOf(jwe: string): string | undefined {
  try {
    return JSON.parse(Buffer.from(jwe.split('.')[0] ?? '', 'base64url').toString()).alg
  } catch {
    return undefined
  }
}
