import assert from 'node:assert/strict'
import { createHmac, randomBytes } from 'node:crypto'
import { test } from 'node:test'
import fc from 'fast-check'
import { encipherAesEcb } from '../../../src/crypto/aes.ts'
import { sealAesGcm } from '../../../src/crypto/aes-gcm.ts'
import { xaesKey, xaesSubkeys } from '../../../src/crypto/xaes-256-gcm.ts'
import { Secret } from '../../../src/domain/secret.ts'
import { keyCatalogue } from '../../../src/hsm/contract/catalogue.ts'
import { openWith, type Subject, vectorsOf } from '../implementation.ts'

type GcmInputs = Record<'key' | 'iv' | 'aad' | 'ciphertext' | 'tag', string>

export function recordGuarantees(subject: Subject): void {
  test('any text that was sealed comes back to its purpose and subject, sealed anew each time', async () => {
    const hsm = await openWith(subject())
    const text = fc.oneof(fc.string({ unit: 'binary' }), fc.constant('ø'.repeat(20_000)))
    const property = fc.asyncProperty(text, fc.string(), async (clear, owner) => {
      const first = await hsm.sealRecord('note', owner, clear)
      const second = await hsm.sealRecord('note', owner, clear)
      assert.equal(await hsm.revealRecord('note', owner, first), clear)
      assert.notDeepEqual(first, second)
    })
    await fc.assert(property, { numRuns: 30 })
  })

  test('a record opens for no other purpose and no other subject', async () => {
    const hsm = await openWith(subject())
    const sealed = await hsm.sealRecord('note', 'a', 'text')
    await assert.rejects(hsm.revealRecord('personal-data', 'a', sealed))
    await assert.rejects(hsm.revealRecord('note', 'b', sealed))
    await assert.rejects(hsm.revealRecord('note', '', sealed))
    assert.equal(await hsm.revealRecord('note', 'a', sealed), 'text')
  })

  test('a record of which one bit was changed, or a byte is missing, does not open', async () => {
    const hsm = await openWith(subject())
    const sealed = await hsm.sealRecord('note', 'a', 'text')
    for (const at of sealed.keys()) {
      const changed = Uint8Array.from(sealed)
      changed[at] = (changed[at] ?? 0) ^ 1
      await assert.rejects(hsm.revealRecord('note', 'a', changed), `byte ${at}`)
    }
    for (const length of [0, 1, 29, sealed.length - 1]) {
      await assert.rejects(hsm.revealRecord('note', 'a', sealed.subarray(0, length)))
    }
    assert.equal(await hsm.revealRecord('note', 'a', sealed), 'text')
  })

  test('each record is under a key of its own: no IV of AES-GCM ever has a key twice', async () => {
    const key = randomBytes(32)
    const hsm = await openWith(subject(), { 'personal-data': key })
    const subkeys = new Set<string>()
    for (let record = 0; record < 50; record++) {
      const sealed = Buffer.from(await hsm.sealRecord('note', 'a', 'text'))
      const nonce = sealed.subarray(3, 27)
      const clear = xaesKey(key).open(nonce, Buffer.from('note\na'), {
        ciphertext: sealed.subarray(27, -16),
        tag: sealed.subarray(-16),
      })
      assert.equal(clear.toString(), 'text')
      const subkey = xaesSubkeys((blocks) => encipherAesEcb(key, blocks))(nonce)
      subkeys.add(subkey.key.toString('hex'))
    }
    assert.equal(subkeys.size, 50)
  })

  test('what was sealed under one key for all still opens, and is moved to the form of today', async () => {
    const key = randomBytes(32)
    const hsm = await openWith(subject(), { 'personal-data': key })
    const iv = randomBytes(12)
    const { ciphertext, tag } = sealAesGcm(key, iv, Buffer.from('note\na'), Buffer.from('text'))
    const earlier = Buffer.concat([Buffer.of(0, 1), iv, ciphertext, tag])
    assert.equal(hsm.readSealedVersion(earlier), 1)
    assert.equal(await hsm.revealRecord('note', 'a', earlier), 'text')
    await assert.rejects(hsm.revealRecord('note', 'b', earlier))
    const moved = await hsm.rewrapRecord('note', 'a', earlier)
    assert.equal(moved.length, earlier.length + 1 + 12)
    assert.equal(hsm.readSealedVersion(moved), 1)
    assert.equal(await hsm.revealRecord('note', 'a', moved), 'text')
  })

  test('what was sealed before is AES-256-GCM: published ciphertexts open to their plaintexts', async () => {
    const { engine } = subject()
    const rows = vectorsOf<GcmInputs, { plaintext: string }>('aes-256-gcm', 'open').slice(0, 12)
    for (const { expected, id, inputs } of rows) {
      const [key, iv, aad, ciphertext, tag] = (
        ['key', 'iv', 'aad', 'ciphertext', 'tag'] as const
      ).map((name) => Buffer.from(inputs[name], 'hex')) as [Buffer, Buffer, Buffer, Buffer, Buffer]
      const { keyBlock } = await engine.import(keyCatalogue.pan.kind, key)
      const opened = await (await engine.open(keyCatalogue.pan.kind, keyBlock)).open(iv, aad, {
        ciphertext,
        tag,
      })
      assert.equal(opened.toString('hex').toUpperCase(), expected.plaintext, id)
    }
    assert.equal(rows.length, 12)
  })

  test('equal requests have equal fingerprints, the HMAC-SHA-256 under a key of their own', async () => {
    const key = randomBytes(32)
    const hsm = await openWith(subject(), { 'request-fingerprint': key })
    for (const request of ['POST /pin {"pin":"7193"}', '']) {
      const given = { clientId: 'client', idempotencyKey: 'key', request: new Secret(request) }
      const due = (text: string) => createHmac('sha256', key).update(text).digest()
      assert.deepEqual(await hsm.fingerprintRequest(given), [
        { keyHash: due('idempotency-key\nclient\nkey'), fingerprint: due(request) },
      ])
      assert.deepEqual(await hsm.fingerprintRequestId('key'), due('request-id\nkey'))
    }
  })
}
