import assert from 'node:assert/strict'
import {
  constants,
  createPublicKey,
  diffieHellman,
  generateKeyPairSync,
  publicEncrypt,
  randomBytes,
  verify,
} from 'node:crypto'
import { test } from 'node:test'
import { keyCatalogue } from '../../../src/hsm/contract/catalogue.ts'
import { assertOwnUseOnly, type Subject } from '../implementation.ts'

const publicKeyOf = (jwk: object) => createPublicKey({ key: { ...jwk }, format: 'jwk' })

export function pairGuarantees(subject: Subject): void {
  test('a key pair agrees on the secret that the other side computes', async () => {
    const { engine } = subject()
    const kind = keyCatalogue['card-data-pin'].kind
    const key = await engine.open(kind, (await engine.generate(kind)).keyBlock)
    for (const _ of [1, 2, 3]) {
      const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
      const theirs = diffieHellman({ privateKey, publicKey: publicKeyOf(key.publicJwk) })
      assert.deepEqual(Buffer.from(await key.agree(publicKey)), theirs)
    }
    const other = generateKeyPairSync('ec', { namedCurve: 'P-384' })
    await assert.rejects(async () => key.agree(other.publicKey))
  })

  test('an RSA key that was given up before its making began is not made', async () => {
    const { engine } = subject()
    const { kind } = keyCatalogue['card-data-wrap']
    await assert.rejects(async () => engine.generate(kind, 'N', AbortSignal.abort()))
  })

  test('an RSA key opens what OpenSSL seals for its own use, and nothing else', async () => {
    const { engine } = subject()
    const kind = keyCatalogue['card-data-wrap'].kind
    const { keyBlock } = await engine.generate(kind)
    const key = await engine.open(kind, keyBlock)
    await assertOwnUseOnly(engine, 'card-data-wrap', keyBlock)
    const publicKey = publicKeyOf(key.publicJwk)
    assert.equal(publicKey.asymmetricKeyDetails?.modulusLength, 4096)
    const seal = (oaepHash: string, oaepLabel = Buffer.alloc(0)) =>
      publicEncrypt({ key: publicKey, oaepHash, oaepLabel }, secret)
    const secret = randomBytes(32)
    assert.deepEqual(await key.unwrap(seal('sha256')).then(bufferOf), secret)
    const padding = constants.RSA_PKCS1_PADDING
    const strange = [
      seal('sha1'),
      seal('sha256', Buffer.from('label')),
      publicEncrypt({ key: publicKey, padding }, secret),
      Buffer.concat([Buffer.alloc(1), randomBytes(511)]),
      Buffer.alloc(512),
    ]
    for (const wrapped of strange) assert.equal(await key.unwrap(wrapped), null)
    assert.deepEqual(await key.unwrap(seal('sha256')).then(bufferOf), secret)
  })

  test('an RSA key signs so that OpenSSL verifies it, PSS with a salt of 32 bytes', async () => {
    const { engine } = subject()
    const kind = keyCatalogue['card-data-sign'].kind
    const { keyBlock } = await engine.generate(kind)
    const key = await engine.open(kind, keyBlock)
    await assertOwnUseOnly(engine, 'card-data-sign', keyBlock)
    const [message, pss] = [randomBytes(300), constants.RSA_PKCS1_PSS_PADDING]
    const signature = await key.sign(message)
    const publicKey = { key: publicKeyOf(key.publicJwk), padding: pss, saltLength: 32 }
    assert.equal(verify('sha256', message, publicKey, signature), true)
    assert.equal(verify('sha256', Buffer.from('other'), publicKey, signature), false)
  })
}

const bufferOf = (bytes: Uint8Array | null): Buffer | null => bytes && Buffer.from(bytes)
