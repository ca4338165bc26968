import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { inspect } from 'node:util'
import { generateCvv } from '../../../src/crypto/cvv.ts'
import { makeExpiry } from '../../../src/domain/calendar.ts'
import { Cvv2 } from '../../../src/domain/cvv2.ts'
import { isPan, Pan } from '../../../src/domain/pan.ts'
import { Pin } from '../../../src/domain/pin.ts'
import type { StoredPin } from '../../../src/hsm/contract/card.ts'
import { keyCatalogue } from '../../../src/hsm/contract/catalogue.ts'
import {
  type EncryptedPinBlock,
  type Hsm,
  OpenedPinBlock,
  pinBlockFormats,
} from '../../../src/hsm/contract/hsm.ts'
import type { KeyEngine } from '../../../src/hsm/keys/key-engine.ts'
import { openEngineHsm } from '../../../src/hsm/verbs/hsm.ts'
import { makePinBlock, readPinBlock } from '../../reference/pin-blocks.ts'
import {
  cardOf,
  drawTdesKey,
  fitTdesKey,
  openWith,
  rules,
  type Subject,
  vectorsOf,
} from '../implementation.ts'

const panKey = randomBytes(32)
const pan = new Pan('4000001234567899')
const card = cardOf(panKey, pan)
const otherCard = cardOf(panKey, new Pan('4111111111111111'), '9000000001')
const zone = { TDES: drawTdesKey(), AES: randomBytes(32) }
/** Not a random PVK: under one of ten thousand keys, another PIN would have the same PVV. */
const pvk = Buffer.from('0123456789ABCDEFFEDCBA9876543210', 'hex')
const cipherOf = (format: string) => (format === 'ISO_FORMAT_4' ? 'AES' : 'TDES')

type CvvInputs = { cvk: string; pan: string; expiry: string; serviceCode: string; length?: number }

/** An HSM with one card's PIN, and the zone keys of a network. */
async function openWithPin(subject: Subject, digits = '7193', pinRevealable = true) {
  const hsm = await openWith(subject(), { pan: panKey, pvk })
  const keyBlocks = {
    TDES: (await hsm.importClearZoneKey('TDES', zone.TDES)).keyBlock,
    AES: (await hsm.importClearZoneKey('AES', zone.AES)).keyBlock,
  }
  const given = rules({ pinLength: digits.length, pinRevealable })
  const { pin } = await hsm.importPin(card, given, new Pin(digits))
  if (!pin) throw new Error('The PIN was not taken.')
  return { hsm, keyBlocks, pin }
}

/** A block as a network makes it, by other code than the HSM's. */
const blockOf = (
  format: EncryptedPinBlock['format'],
  zoneKeyBlock: string,
  digits: string,
): EncryptedPinBlock => {
  const context = { format: Number(format.at(-1)), key: zone[cipherOf(format)], pan: pan.reveal() }
  const bytes = makePinBlock(digits, context as Parameters<typeof makePinBlock>[1])
  return { format, zoneKeyBlock, bytes }
}

const areUnreadable = async (hsm: Hsm, blocks: readonly EncryptedPinBlock[]) => {
  for (const block of blocks) assert.equal(await hsm.openPinBlock(card, block), null)
}

/** Whether a block can be read and its PIN is the card's. */
const matches = async (hsm: Hsm, pin: StoredPin, pinLength: number, block: EncryptedPinBlock) => {
  const opened = await hsm.openPinBlock(card, block)
  return opened !== null && hsm.verifyPin(card, pin, pinLength, opened)
}

/** The same implementation, in which it is counted what is deciphered under zone keys. */
async function countDecipherments(subject: Subject) {
  const { engine } = subject()
  const counted = { count: 0 }
  const countingEngine: KeyEngine = {
    ...engine,
    async open(kind, keyBlock) {
      const key = await engine.open(kind, keyBlock)
      if (kind.purpose !== 'zone' || !('decipher' in key)) return key
      const decipher = (blocks: Uint8Array) => {
        counted.count += 1
        return key.decipher(blocks)
      }
      return { ...key, decipher }
    },
  }
  const { custody } = await openWith(subject())
  const counting: Subject = () => ({
    engine: countingEngine,
    openHsm: (options) => openEngineHsm(countingEngine, options, custody),
  })
  return { counted, ...(await openWithPin(counting)) }
}

export function verificationGuarantees(subject: Subject): void {
  test('the PIN in a block of every format matches, any other does not', async () => {
    const { hsm, keyBlocks, pin } = await openWithPin(subject)
    for (const format of pinBlockFormats) {
      const keyBlock = keyBlocks[cipherOf(format)]
      const verify = (digits: string) => matches(hsm, pin, 4, blockOf(format, keyBlock, digits))
      assert.equal(await verify('7193'), true, format)
      for (const wrong of ['7194', '0193', '71930', '719', '719300000000'].filter(isPin)) {
        assert.equal(await verify(wrong), false, `${format} ${wrong}`)
      }
    }
  })

  test('a PIN of every length matches itself', async () => {
    for (const digits of ['71930', '719304', '71930485', '719304852610']) {
      const { hsm, keyBlocks, pin } = await openWithPin(subject, digits)
      const block = blockOf('ISO_FORMAT_4', keyBlocks.AES, digits)
      assert.equal(await matches(hsm, pin, digits.length, block), true)
      assert.equal(await matches(hsm, pin, 4, block), false)
    }
  })

  test('a PIN that is kept as a PVV matches, and a longer one that begins with it does not', async () => {
    const { hsm, keyBlocks, pin } = await openWithPin(subject, '7193', false)
    const verify = (digits: string) =>
      matches(hsm, pin, 4, blockOf('ISO_FORMAT_0', keyBlocks.TDES, digits))
    assert.deepEqual(
      [await verify('7193'), await verify('7194'), await verify('719300')],
      [true, false, false],
    )
  })

  test('a block made here is the block that other code reads', async () => {
    const { hsm, keyBlocks } = await openWithPin(subject)
    for (const format of pinBlockFormats) {
      const cipher = cipherOf(format)
      const made = await hsm.generatePinBlock(card, new Pin('7193'), format, keyBlocks[cipher])
      const context = { format: Number(format.at(-1)), key: zone[cipher], pan: pan.reveal() }
      const read = readPinBlock(made.bytes, context as Parameters<typeof readPinBlock>[1])
      assert.equal(read, '7193', format)
      assert.ok(await hsm.openPinBlock(card, made))
    }
  })

  test('a block under another key, for another card, or of another format or length matches nothing', async () => {
    const { hsm, keyBlocks, pin } = await openWithPin(subject)
    const otherTdes = (await hsm.importClearZoneKey('TDES', drawTdesKey())).keyBlock
    const otherAes = (await hsm.importClearZoneKey('AES', randomBytes(32))).keyBlock
    const block0 = blockOf('ISO_FORMAT_0', keyBlocks.TDES, '7193')
    const block4 = blockOf('ISO_FORMAT_4', keyBlocks.AES, '7193')
    const wrongKeys = [
      { ...block0, zoneKeyBlock: otherTdes },
      { ...block4, zoneKeyBlock: otherAes },
    ]
    const misfits: EncryptedPinBlock[] = [
      { ...block0, zoneKeyBlock: keyBlocks.AES },
      { ...block4, zoneKeyBlock: keyBlocks.TDES },
      { ...block0, format: 'ISO_FORMAT_4' },
      { ...block4, format: 'ISO_FORMAT_0' },
      { ...block0, bytes: Buffer.alloc(0) },
      { ...block0, bytes: Buffer.alloc(7) },
      { ...block0, bytes: Buffer.alloc(16) },
      { ...block4, bytes: Buffer.alloc(8) },
      { ...block4, bytes: Buffer.alloc(32) },
    ]
    await areUnreadable(hsm, misfits)
    for (const block of [...wrongKeys, ...misfits]) {
      assert.equal(await matches(hsm, pin, 4, block), false)
    }
    assert.equal(await hsm.openPinBlock(otherCard, block4), null)
  })

  test('a block is deciphered when it is opened, and never again', async () => {
    const { counted, hsm, keyBlocks, pin } = await countDecipherments(subject)
    for (const digits of ['7193', '7194']) {
      counted.count = 0
      const opened = await hsm.openPinBlock(card, blockOf('ISO_FORMAT_0', keyBlocks.TDES, digits))
      assert.ok(opened)
      assert.equal(counted.count, 1)
      assert.equal(await hsm.verifyPin(card, pin, 4, opened), digits === '7193')
      assert.equal(counted.count, 1)
    }
  })

  test('what is given for an opened block shows nothing of its PIN', async () => {
    const { hsm, keyBlocks } = await openWithPin(subject)
    const opened = await hsm.openPinBlock(card, blockOf('ISO_FORMAT_0', keyBlocks.TDES, '7193'))
    assert.ok(opened)
    assert.equal(`${opened}`, '****')
    assert.equal(JSON.stringify({ opened }), '{"opened":"****"}')
    assert.equal(inspect(opened, { showHidden: true, depth: null }), '****')
    const raw = inspect(opened, { customInspect: false, showHidden: true, depth: null })
    assert.ok(!raw.includes('7193'))
    assert.deepEqual(Reflect.ownKeys(opened), [])
  })

  test('a block that was opened for another card, or elsewhere, is compared with nothing', async () => {
    const { hsm, keyBlocks, pin } = await openWithPin(subject)
    const elsewhere = await openWithPin(subject)
    const block = (keyBlock: string) => blockOf('ISO_FORMAT_1', keyBlock, '7193')
    const opened = await hsm.openPinBlock(otherCard, block(keyBlocks.TDES))
    const stranger = await elsewhere.hsm.openPinBlock(card, block(elsewhere.keyBlocks.TDES))
    assert.ok(opened && stranger)
    for (const other of [opened, stranger, new OpenedPinBlock()]) {
      await assert.rejects(hsm.verifyPin(card, pin, 4, other))
    }
  })

  test('a key that is no zone key of this HSM opens no block, which is not the block’s fault', async () => {
    const { hsm } = await openWithPin(subject)
    const stored = new Map(hsm.keyStore.rows.map(({ keyBlock, keyName }) => [keyName, keyBlock]))
    const strangers = ['pan', 'pvk', 'cvk', 'token-signing'].map((name) => stored.get(name) ?? '')
    for (const zoneKeyBlock of [...strangers, '', 'D0112P0AB00N0000', 'pkcs11:object=x;id=%00']) {
      const block = blockOf('ISO_FORMAT_0', zoneKeyBlock, '7193')
      await assert.rejects(hsm.openPinBlock(card, block))
    }
  })

  test('the CVV2 is the published one under a published key, and no other matches', async () => {
    const rows = vectorsOf<CvvInputs, { cvv: string }>('cvv', 'cvv')
    let checked = 0
    for (const { expected, id, inputs } of rows) {
      const cvk = fitTdesKey(inputs.cvk)
      if (!cvk) continue
      const { keyBlock } = await subject().engine.import(keyCatalogue.cvk.kind, cvk)
      const key = await subject().engine.open(keyCatalogue.cvk.kind, keyBlock)
      assert.equal(await generateCvv(key, inputs), expected.cvv, id)
      if (inputs.serviceCode !== '000' || !isPan(inputs.pan)) continue
      checked += 1
      const hsm = await openWith(subject(), { pan: panKey, cvk })
      const expiry = makeExpiry(
        2000 + Number(inputs.expiry.slice(2)),
        Number(inputs.expiry.slice(0, 2)),
      )
      const its = cardOf(panKey, new Pan(inputs.pan))
      const verify = (cvv2: string) => hsm.verifyCvv2(its, 'cvk/1', expiry, new Cvv2(cvv2))
      assert.equal(await verify(expected.cvv), true, id)
      for (const wrong of ['000', `${expected.cvv}0`, `0${expected.cvv}`]) {
        assert.equal(await verify(wrong), false, id)
      }
      await assert.rejects(hsm.verifyCvv2(its, 'pvk/1', expiry, new Cvv2(expected.cvv)))
      await assert.rejects(hsm.verifyCvv2(its, 'cvk/2', expiry, new Cvv2(expected.cvv)))
    }
    assert.ok(checked > 0)
  })
}

const isPin = (digits: string): boolean => digits.length >= 4
