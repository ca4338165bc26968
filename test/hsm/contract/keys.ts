import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { type CompactVerifyResult, compactVerify, importJWK } from 'jose'
import {
  hasEqualParts,
  hasOddParity,
  isWeakTdesKey,
  setOddParity,
} from '../../../src/crypto/tdes-keys.ts'
import { Pin } from '../../../src/domain/pin.ts'
import { Secret } from '../../../src/domain/secret.ts'
import {
  isMadeAtStart,
  type KeyKind,
  type KeyName,
  keyCatalogue,
  keyNames,
} from '../../../src/hsm/contract/catalogue.ts'
import {
  assertOwnUseOnly,
  drawTdesKey,
  fitTdesKey,
  memoryKeyStore,
  openWith,
  rules,
  type Subject,
  vectorsOf,
} from '../implementation.ts'

const kindOf = (name: KeyName): KeyKind => keyCatalogue[name].kind
const sound = drawTdesKey()

/** One weak, one semi-weak key of DES, as SP 800-67 lists them. */
const weakParts = ['0101010101010101', 'fefefefefefefefe', '01fe01fe01fe01fe', 'e0fee0fef1fef1fe']

/** TDES keys of two parts that a cipher would take and nobody may use. */
const unfitTdesKeys: Readonly<Record<string, Buffer>> = {
  ...Object.fromEntries(
    weakParts.flatMap((part) => [
      [`${part} first`, Buffer.concat([Buffer.from(part, 'hex'), sound.subarray(8)])],
      [`${part} second`, Buffer.concat([sound.subarray(0, 8), Buffer.from(part, 'hex')])],
    ]),
  ),
  'A = B': Buffer.concat([sound.subarray(0, 8), sound.subarray(0, 8)]),
  'even parity': Buffer.from(sound.map((byte, at) => (at === 15 ? byte ^ 1 : byte))),
  'single length': sound.subarray(0, 8),
  'triple length': Buffer.concat([sound, sound.subarray(0, 8)]),
  'an AES key': setOddParity(randomBytes(32)),
  nothing: Buffer.alloc(0),
}

export function keyGuarantees(subject: Subject): void {
  test('a weak, semi-weak, short, long or repeated key, or one of wrong parity, is not taken in', async () => {
    const hsm = await openWith(subject())
    for (const [what, key] of Object.entries(unfitTdesKeys)) {
      await assert.rejects(hsm.importClearZoneKey('TDES', key), what)
      await assert.rejects(subject().engine.import(keyCatalogue.cvk.kind, key), what)
      await assert.rejects(subject().engine.import(keyCatalogue.pvk.kind, key), what)
    }
    for (const key of [randomBytes(16), randomBytes(31), randomBytes(33), Buffer.alloc(32, 7)]) {
      await assert.rejects(hsm.importClearZoneKey('AES', key))
      await assert.rejects(subject().engine.import(keyCatalogue.pan.kind, key))
      await assert.rejects(subject().engine.import(keyCatalogue['pan-fingerprint'].kind, key))
    }
    await assert.rejects(
      subject().engine.import(keyCatalogue['token-signing'].kind, randomBytes(32)),
    )
  })

  test('test zone keys are sound, and every one is another', async () => {
    const hsm = await openWith(subject())
    const drawn = await Promise.all(
      Array.from({ length: 40 }, () => hsm.generateTestZoneKey('TDES')),
    )
    for (const key of drawn) {
      assert.equal(key.length, 16)
      assert.ok(hasOddParity(key) && !isWeakTdesKey(key) && !hasEqualParts(key))
      await hsm.importClearZoneKey('TDES', key)
    }
    assert.equal(new Set(drawn.map((key) => Buffer.from(key).toString('hex'))).size, drawn.length)
    const aes = await hsm.generateTestZoneKey('AES')
    assert.equal(aes.length, 32)
    await hsm.importClearZoneKey('AES', aes)
  })

  test('a zone key has the check value that is published for it', async () => {
    const hsm = await openWith(subject())
    const rows = vectorsOf<{ key: string }, { kcv: string }>('kcv', 'kcvTdes')
    let checked = 0
    for (const { expected, id, inputs } of rows) {
      const key = fitTdesKey(inputs.key)
      if (!key) continue
      checked += 1
      const { keyCheckValue } = await hsm.importClearZoneKey('TDES', key)
      assert.equal(keyCheckValue, expected.kcv.slice(0, 6), id)
    }
    assert.ok(checked > 2)
  })

  test('a key that was made here opens for its own use and for no other', async () => {
    const { engine } = subject()
    for (const name of quickNames) {
      await assertOwnUseOnly(engine, name, (await engine.generate(kindOf(name))).keyBlock)
    }
  })

  test('a key whose reference was changed anywhere, or that was made elsewhere, does not open', async () => {
    const { engine } = subject()
    const { keyBlock } = await engine.generate(keyCatalogue.pan.kind)
    for (let at = 0; at < keyBlock.length; at += 7) {
      const changed = `${keyBlock.slice(0, at)}${keyBlock[at] === '0' ? '1' : '0'}${keyBlock.slice(at + 1)}`
      await assert.rejects(
        async () => engine.open(keyCatalogue.pan.kind, changed),
        `character ${at}`,
      )
    }
    for (const stranger of ['', 'pkcs11:', keyBlock.slice(0, -1), `${keyBlock}0`]) {
      await assert.rejects(async () => engine.open(keyCatalogue.pan.kind, stranger))
    }
  })

  test('a key does what its mode of use allows and nothing else', async () => {
    const { engine } = subject()
    const pvk = await engine.open(
      keyCatalogue.pvk.kind,
      (await engine.generate(keyCatalogue.pvk.kind)).keyBlock,
    )
    assert.equal((await pvk.encipher(Buffer.alloc(8))).length, 8)
    await assert.rejects(pvk.decipher(Buffer.alloc(8)))
    const kind = {
      purpose: 'zone',
      keyUsage: 'P0',
      algorithm: 'A',
      modeOfUse: 'D',
      lengthBytes: 32,
      action: 'blocks',
    } as const
    const incoming = await engine.open(kind, (await engine.import(kind, randomBytes(32))).keyBlock)
    assert.equal((await incoming.decipher(Buffer.alloc(16))).length, 16)
    await assert.rejects(incoming.encipher(Buffer.alloc(16)))
    await assert.rejects(pvk.encipher(Buffer.alloc(7)))
  })

  test('a second process on the same key store does the same with the same keys', async () => {
    const keyStore = memoryKeyStore()
    const [first, second] = await Promise.all([
      subject().openHsm({ keyStore }),
      subject().openHsm({ keyStore }),
    ])
    const sealed = await first.sealRecord('note', 'a', 'text')
    assert.equal(await second.revealRecord('note', 'a', sealed), 'text')
    const request = { clientId: 'a', idempotencyKey: 'b', request: new Secret('x') }
    assert.deepEqual(
      await first.fingerprintRequest(request),
      await second.fingerprintRequest(request),
    )
    assert.equal(keyStore.rows.length, quickNames.length)
  })

  test('what was made under an older version still opens, and new things are made under the newest', async () => {
    const hsm = await openWith(subject())
    const card = await hsm.generateCardNumber('400000', 'cvk')
    const { pin } = await hsm.importPin(card, rules(), new Pin('7193'))
    const older = await hsm.sealRecord('note', 'a', 'older')
    for (const keyName of ['pan', 'pin-storage', 'personal-data', 'cvk'] as const) {
      const key = await hsm.generateKey({ family: 'installation', keyName }, null, false)
      await hsm.keyStore.add({ keyName, keyVersion: 2, state: 'active', ...key })
    }
    await hsm.refreshKeys()
    const newer = await hsm.sealRecord('note', 'a', 'newer')
    assert.deepEqual(
      [older, newer].map((sealed) => hsm.readSealedVersion(sealed)),
      [1, 2],
    )
    assert.equal(await hsm.revealRecord('note', 'a', older), 'older')
    assert.equal(await hsm.revealRecord('note', 'a', newer), 'newer')
    assert.ok(pin?.pinBlock)
    assert.equal((await hsm.revealPin(card, pin)).reveal(), '7193')
    const moved = { ...card, encryptedPan: await hsm.rewrapPan(card) }
    assert.equal(hsm.readSealedVersion(moved.encryptedPan), 2)
    const rewrapped = await hsm.rewrapPin(moved, pin)
    assert.equal(rewrapped.pinKey, 'pin-storage/2')
    assert.equal((await hsm.revealPin(moved, rewrapped)).reveal(), '7193')
    const successor = await hsm.generateCardNumber('400000', 'cvk')
    assert.equal(successor.cvk, 'cvk/2')
    const translated = await hsm.translatePin(card, pin, successor)
    assert.equal(translated.pinKey, 'pin-storage/2')
    assert.equal((await hsm.revealPin(successor, translated)).reveal(), '7193')
  })

  test('access tokens are signed so that another library verifies them with the public key', async () => {
    const { tokenSigningKeys } = await openWith(subject())
    const [key] = await tokenSigningKeys()
    assert.ok(key)
    assert.equal(key.algorithm, 'ES256')
    const encode = (part: object) => Buffer.from(JSON.stringify(part)).toString('base64url')
    const publicKey = await importJWK({ ...key.publicJwk }, 'ES256')
    for (const count of [1, 2, 3, 4, 5]) {
      const message = `${encode({ alg: 'ES256' })}.${encode({ count })}`
      const signature = await key.sign(Buffer.from(message))
      assert.equal(signature.length, 64)
      const jws = `${message}.${Buffer.from(signature).toString('base64url')}`
      const verified: CompactVerifyResult = await compactVerify(jws, publicKey)
      assert.deepEqual(JSON.parse(Buffer.from(verified.payload).toString()), { count })
    }
  })

  test('bytes are drawn anew each time, and the HSM answers when it is asked', async () => {
    const { engine } = subject()
    const drawn = await Promise.all(Array.from({ length: 20 }, async () => engine.random(16)))
    assert.equal(new Set(drawn.map((bytes) => Buffer.from(bytes).toString('hex'))).size, 20)
    const hsm = await openWith(subject())
    await hsm.ping()
  })
}

/** Those that take seconds to make are made once each, where pairs are proven. */
const quickNames = keyNames.filter(isMadeAtStart)
