import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { encipherAesEcb } from '../../src/crypto/aes.ts'
import { xaesKey, xaesSubkeys } from '../../src/crypto/xaes-256-gcm.ts'
import { refused } from './arbitraries.ts'

/** c2sp.org/XAES-256-GCM, “Test vectors”: the top bit of the CMAC subkey is clear, then set. */
const published = [
  {
    key: Buffer.alloc(32, 0x01),
    associated: '',
    subkey: 'c8612c9ed53fe43e8e005b828a1631a0bbcb6ab2f46514ec4f439fcfd0fa969b',
    sealed: 'ce546ef63c9cc60765923609b33a9a1974e96e52daf2fcf7075e2271',
  },
  {
    key: Buffer.alloc(32, 0x03),
    associated: 'c2sp.org/XAES-256-GCM',
    subkey: 'e9c621d4cdd9b11b00a6427ad7e559aeedd66b3857646677748f8ca796cb3fd8',
    sealed: '986ec1832593df5443a179437fd083bf3fdb41abd740a21f71eb769d',
  },
] as const

const nonce = Buffer.from('ABCDEFGHIJKLMNOPQRSTUVWX')
const clear = Buffer.from('XAES-256-GCM')

test('the key of a message and its ciphertext are the published ones', () => {
  for (const { associated, key, sealed, subkey } of published) {
    const derived = xaesSubkeys((blocks) => encipherAesEcb(key, blocks))(nonce)
    assert.equal(derived.key.toString('hex'), subkey)
    assert.equal(Buffer.from(derived.iv).toString(), 'MNOPQRSTUVWX')
    const { ciphertext, tag } = xaesKey(key).seal(nonce, Buffer.from(associated), clear)
    assert.equal(Buffer.concat([ciphertext, tag]).toString('hex'), sealed)
    const opened = xaesKey(key).open(nonce, Buffer.from(associated), { ciphertext, tag })
    assert.deepEqual(opened, clear)
  }
})

test('10,000 messages of every length come to the published hash', () => {
  // The stream of the document: SHAKE-128 of nothing, from which every input is read.
  const stream = createHash('shake128', { outputLength: 5_000_000 }).digest()
  let at = 0
  const read = (length: number): Buffer => {
    at += length
    return stream.subarray(at - length, at)
  }
  const readOpaque = (): Buffer => read(read(1).readUInt8())
  const hash = createHash('shake128', { outputLength: 32 })
  for (let message = 0; message < 10_000; message++) {
    const [key, drawn] = [read(32), read(24)]
    const [plaintext, associated] = [readOpaque(), readOpaque()]
    const { ciphertext, tag } = xaesKey(key).seal(drawn, associated, plaintext)
    hash.update(ciphertext).update(tag)
  }
  const expected = 'e6b9edf2df6cec60c8cbd864e2211b597fb69a529160cd040d56c0c210081939'
  assert.equal(hash.digest('hex'), expected)
})

test('a bit of anything that changes opens nothing, and another length is refused', () => {
  const key = randomBytes(32)
  const associated = Buffer.from('associated')
  const sealed = xaesKey(key).seal(nonce, associated, clear)
  const flipped = (bytes: Uint8Array): Buffer => {
    const copy = Buffer.from(bytes)
    copy[copy.length - 1] = (copy.at(-1) ?? 0) ^ 1
    return copy
  }
  const opens = (given: { key?: Buffer; nonce?: Buffer; associated?: Buffer; tag?: Buffer }) => {
    const tag = given.tag ?? sealed.tag
    xaesKey(given.key ?? key).open(given.nonce ?? nonce, given.associated ?? associated, {
      ciphertext: sealed.ciphertext,
      tag,
    })
  }
  opens({})
  refused('aes_gcm_refused', () => opens({ key: flipped(key) }))
  refused('aes_gcm_refused', () => opens({ nonce: flipped(nonce) }))
  refused('aes_gcm_refused', () => opens({ associated: flipped(associated) }))
  refused('aes_gcm_refused', () => opens({ tag: flipped(sealed.tag) }))
  refused('aes_gcm_refused', () => opens({ key: key.subarray(0, 16) }))
  refused('aes_gcm_refused', () => opens({ nonce: nonce.subarray(0, 12) }))
})

test('a key seals and opens one message after another as if each were its first', () => {
  const key = randomBytes(32)
  const kept = xaesKey(key)
  for (let message = 0; message < 50; message += 1) {
    const [drawn, text] = [randomBytes(24), randomBytes(message)]
    const sealed = kept.seal(drawn, nonce, text)
    assert.deepEqual(sealed, xaesKey(key).seal(drawn, nonce, text))
    assert.deepEqual(kept.open(drawn, nonce, sealed), text)
  }
})
