import assert from 'node:assert/strict'
import { createHmac, randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { generatePvv } from '../../../src/crypto/pvv.ts'
import { xaesKey } from '../../../src/crypto/xaes-256-gcm.ts'
import { makeExpiry } from '../../../src/domain/calendar.ts'
import { Cvv2 } from '../../../src/domain/cvv2.ts'
import { isPan, Pan } from '../../../src/domain/pan.ts'
import { Pin, weakPinReason } from '../../../src/domain/pin.ts'
import type { CardNumber } from '../../../src/hsm/contract/card.ts'
import { keyCatalogue } from '../../../src/hsm/contract/catalogue.ts'
import { readPinBlock } from '../../reference/pin-blocks.ts'
import { cardOf, fitTdesKey, openWith, rules, type Subject, vectorsOf } from '../implementation.ts'

const panKey = randomBytes(32)
const pan = new Pan('4000001234567899')
const card = cardOf(panKey, pan)

/** The PAN in what the HSM gave out: form, version, nonce, ciphertext, tag, bound to the token. */
function panIn({ encryptedPan, publicToken }: CardNumber): Pan {
  const bytes = Buffer.from(encryptedPan)
  const sealed = { ciphertext: bytes.subarray(27, -16), tag: bytes.subarray(-16) }
  const clear = xaesKey(panKey).open(bytes.subarray(3, 27), Buffer.from(publicToken), sealed)
  return new Pan(clear.toString())
}

export function cardNumberGuarantees(subject: Subject): void {
  test('a new card has a Luhn-valid PAN of its BIN, a token of 10 digits and the mask of that PAN', async () => {
    const hsm = await openWith(subject(), { pan: panKey })
    for (const bin of ['400000', '51234567']) {
      const card = await hsm.generateCardNumber(bin, 'cvk')
      const pan = panIn(card)
      assert.match(card.publicToken, /^[1-9][0-9]{9}$/)
      assert.ok(pan.reveal().startsWith(bin))
      assert.equal(pan.reveal().length, 16)
      assert.equal(card.maskedPan, pan.masked)
      assert.equal(card.cvk, 'cvk/1')
    }
  })

  test('no two cards share a token, a PAN or a ciphertext', async () => {
    const hsm = await openWith(subject(), { pan: panKey })
    const cards = await Promise.all(
      Array.from({ length: 50 }, () => hsm.generateCardNumber('400000', 'cvk')),
    )
    const pans = cards.map((card) => panIn(card).reveal())
    const sealed = cards.map(({ encryptedPan }) => Buffer.from(encryptedPan).toString('hex'))
    for (const values of [cards.map(({ publicToken }) => publicToken), pans, sealed]) {
      assert.equal(new Set(values).size, cards.length)
    }
  })

  test('a card is found by the HMAC-SHA-256 of its PAN and by nothing else', async () => {
    const key = randomBytes(32)
    const hsm = await openWith(subject(), { pan: panKey, 'pan-fingerprint': key })
    const card = await hsm.generateCardNumber('400000', 'cvk')
    const pan = panIn(card)
    const fingerprint = createHmac('sha256', key).update(pan.reveal()).digest()
    assert.deepEqual(card.panFingerprints, [{ fingerprint, keyVersion: 1 }])
    assert.deepEqual(await hsm.fingerprintPan(pan), card.panFingerprints)
    const [other] = await hsm.fingerprintPan(new Pan('4111111111111111'))
    assert.notDeepEqual(other?.fingerprint, fingerprint)
  })

  test('a PAN that is moved to another card does not open', async () => {
    const hsm = await openWith(subject())
    const card = await hsm.generateCardNumber('400000', 'cvk')
    const other = await hsm.generateCardNumber('400000', 'cvk')
    const moved = { publicToken: other.publicToken, encryptedPan: card.encryptedPan }
    const ask = (reference: typeof moved) =>
      hsm.verifyCvv2(reference, 'cvk/1', makeExpiry(2030, 11), new Cvv2('000'))
    assert.equal(typeof (await ask(card)), 'boolean')
    await assert.rejects(ask(moved))
  })

  test('a key that no product may name makes no card', async () => {
    const hsm = await openWith(subject())
    await assert.rejects(hsm.generateCardNumber('400000', 'pvk'))
    await assert.rejects(hsm.generateCardNumber('400000', 'toString'))
  })
}

type PvvInputs = { pvk: string; pan: string; pvki: string; pin: string }

export function pinGuarantees(subject: Subject): void {
  test('a PIN of any length that ISO 9564-1 allows is drawn, kept and revealed', async () => {
    const hsm = await openWith(subject(), { pan: panKey })
    for (const pinLength of [4, 5, 6, 7, 8, 9, 10, 11, 12]) {
      const kept = await hsm.generatePin(card, rules({ pinLength }))
      assert.equal((await hsm.revealPin(card, kept)).length, pinLength)
    }
  })

  test('every digit of a drawn PIN is as likely as any other', async () => {
    const hsm = await openWith(subject(), { pan: panKey })
    const drawn = await Promise.all(
      Array.from({ length: 300 }, async () => {
        const kept = await hsm.generatePin(card, rules({ pinLength: 12 }))
        return (await hsm.revealPin(card, kept)).reveal()
      }),
    )
    const digits = drawn.join('')
    const expected = digits.length / 10
    const deviation = [...'0123456789']
      .map((digit) => digits.split(digit).length - 1)
      .reduce((sum, count) => sum + (count - expected) ** 2 / expected, 0)
    // Chi-squared with 9 degrees of freedom is above 50 once in some ten million runs.
    assert.ok(deviation < 50, `chi-squared ${deviation}`)
  })

  test('a PIN is drawn again while it is weak', async () => {
    const weak = ['1111', '1234', '9876', '1212', '1990', '1704', '1130']
    for (const pin of weak) assert.notEqual(weakPinReason(new Pin(pin), rules()), null)
    const draws = [...weak, '7193']
    const drawDigits = async () => draws.shift() ?? ''
    const hsm = await openWith(subject(), { pan: panKey }, { drawDigits })
    const kept = await hsm.generatePin(card, rules({ refuseWeakPins: false }))
    assert.equal((await hsm.revealPin(card, kept)).reveal(), '7193')
    assert.equal(draws.length, 0)
  })

  test('a weak PIN is refused with its reason and not kept, unless the rules allow it', async () => {
    const hsm = await openWith(subject(), { pan: panKey })
    const pin = new Pin('1234')
    const refused = await hsm.importPin(card, rules(), pin)
    assert.deepEqual(refused, { pin: null, weakness: weakPinReason(pin, rules()) })
    const taken = await hsm.importPin(card, rules({ refuseWeakPins: false }), pin)
    assert.ok(taken.pin)
    assert.equal((await hsm.revealPin(card, taken.pin)).reveal(), '1234')
  })

  test('a kept PIN is an ISO format 4 block bound to the PAN, another one each time', async () => {
    const key = randomBytes(32)
    const hsm = await openWith(subject(), { pan: panKey, 'pin-storage': key })
    const [first, second] = await Promise.all(
      [1, 2].map(async () => (await hsm.importPin(card, rules(), new Pin('7193'))).pin),
    )
    const pinBlock = Buffer.from(first?.pinBlock ?? [])
    assert.equal(first?.pinKey, 'pin-storage/1')
    assert.notDeepEqual(first?.pinBlock, second?.pinBlock)
    const context = { format: 4, key, pan: pan.reveal() } as const
    assert.equal(readPinBlock(pinBlock, context), '7193')
    const other = cardOf(panKey, new Pan('4111111111111111'))
    await assert.rejects(async () => first && hsm.revealPin(other, first))
  })

  test('a PIN that moves to another card stays the same, and opens for that card alone', async () => {
    const hsm = await openWith(subject(), { pan: panKey })
    const other = await hsm.generateCardNumber('400000', 'cvk')
    const kept = await hsm.generatePin(card, rules())
    assert.ok(kept.pinBlock)
    const moved = await hsm.translatePin(card, kept, other)
    const pin = (await hsm.revealPin(card, kept)).reveal()
    assert.equal((await hsm.revealPin(other, moved)).reveal(), pin)
    await assert.rejects(hsm.revealPin(card, moved))
    await assert.rejects(hsm.translatePin(other, kept, card))
  })

  test('a PIN of any length moves into a new block, which is bound to the PAN of the other card', async () => {
    const key = randomBytes(32)
    const hsm = await openWith(subject(), { pan: panKey, 'pin-storage': key })
    const other = await hsm.generateCardNumber('400000', 'cvk')
    for (const pinLength of [4, 5, 6, 7, 8, 9, 10, 11, 12]) {
      const kept = await hsm.generatePin(card, rules({ pinLength }))
      assert.ok(kept.pinBlock)
      const [first, second] = [
        await hsm.translatePin(card, kept, other),
        await hsm.translatePin(card, kept, other),
      ]
      assert.notDeepEqual(first.pinBlock, second.pinBlock)
      assert.deepEqual([first.pvv, first.pinKey], [null, 'pin-storage/1'])
      const context = { format: 4, key, pan: panIn(other).reveal() } as const
      assert.equal(
        readPinBlock(Buffer.from(first.pinBlock), context),
        (await hsm.revealPin(card, kept)).reveal(),
      )
    }
  })

  test('a card number is made for the token that is given', async () => {
    const hsm = await openWith(subject(), { pan: panKey })
    const given = await hsm.generateCardNumber('400000', 'cvk', card.publicToken)
    assert.equal(given.publicToken, card.publicToken)
  })

  test('a PIN that is not revealable leaves a PVV of four digits and no way back', async () => {
    const hsm = await openWith(subject(), { pan: panKey })
    const kept = await hsm.generatePin(card, rules({ pinRevealable: false }))
    assert.match(kept.pvv ?? '', /^[0-9]{4}$/)
    assert.deepEqual([kept.pinBlock, kept.pinKey], [null, 'pvk/1'])
    await assert.rejects(hsm.revealPin(card, kept))
    await assert.rejects(hsm.generatePin(card, rules({ pinRevealable: false, pvk: 'cvk' })))
  })

  test('the PVV is the published one under a published key', async () => {
    const rows = vectorsOf<PvvInputs, { pvv: string }>('pvv', 'pvv')
    let count = 0
    for (const { expected, id, inputs } of rows) {
      const pvk = fitTdesKey(inputs.pvk)
      if (!pvk) continue
      count += 1
      const { keyBlock } = await subject().engine.import(keyCatalogue.pvk.kind, pvk)
      const key = await subject().engine.open(keyCatalogue.pvk.kind, keyBlock)
      assert.equal(await generatePvv(key, inputs), expected.pvv, id)
      if (inputs.pvki !== '1' || !isPan(inputs.pan)) continue
      const hsm = await openWith(subject(), { pan: panKey, pvk })
      const given = rules({ pinRevealable: false, refuseWeakPins: false })
      const its = cardOf(panKey, new Pan(inputs.pan))
      const { pin } = await hsm.importPin(its, given, new Pin(inputs.pin))
      assert.equal(pin?.pvv, expected.pvv, id)
    }
    assert.ok(count >= 5)
  })

  test('a PIN under another key than it says is not revealed', async () => {
    const hsm = await openWith(subject(), { pan: panKey })
    const kept = await hsm.generatePin(card, rules())
    for (const pinKey of ['pan/1', 'pin-storage/2', 'pin-storage/', 'pvk/1', '']) {
      const moved = { ...kept, pinKey } as typeof kept
      await assert.rejects(hsm.revealPin(card, moved), pinKey)
    }
  })
}
