import assert from 'node:assert/strict'
import { createHmac, randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { xaesKey } from '../../../src/crypto/xaes-256-gcm.ts'
import { makeExpiry } from '../../../src/domain/calendar.ts'
import { Cvv2 } from '../../../src/domain/cvv2.ts'
import { Pan } from '../../../src/domain/pan.ts'
import type { CardNumber } from '../../../src/hsm/contract/card.ts'
import { openWith, type Subject } from '../implementation.ts'

const panKey = randomBytes(32)

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
