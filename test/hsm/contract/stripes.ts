import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { computeCvc3, computeIvCvc3 } from '../../../src/crypto/cvc3.ts'
import { generateCvv } from '../../../src/crypto/cvv.ts'
import { generateDynamicCvv } from '../../../src/crypto/dcvv.ts'
import { deriveCardKey } from '../../../src/crypto/emv-keys.ts'
import { encipherTdesEcb } from '../../../src/crypto/tdes.ts'
import { chipProfiles } from '../../../src/domain/chip-profile.ts'
import { Pan } from '../../../src/domain/pan.ts'
import { Secret } from '../../../src/domain/secret.ts'
import { cardOf, drawTdesKey, openWith, type Subject } from '../implementation.ts'

const pan = new Pan('4000001234567899')
const otherPan = new Pan('4111111111111111')
const wrongOf = (digits: string): string => String((Number(digits) + 1) % 1_000).padStart(3, '0')

const pairOf = (key: Buffer) => ({
  encipherWithA: async (block: Uint8Array) => encipherTdesEcb(key.subarray(0, 8), block),
  encipherWithBoth: async (block: Uint8Array) => encipherTdesEcb(key, block),
})

/** Not a random CVK: under one of a thousand keys, other inputs would have the same CVV. */
const cvk = Buffer.from('0123456789ABCDEFFEDCBA9876543210', 'hex')

/** An HSM whose keys the test knows, and a card. */
async function openStripes(subject: Subject) {
  const panKey = randomBytes(32)
  const keys = { cvk, cavv: drawTdesKey(), 'chip-dynamic': drawTdesKey() }
  const hsm = await openWith(subject(), { pan: panKey, ...keys })
  const card = cardOf(panKey, pan)
  const chip = { card, panSequenceNumber: '00', profile: chipProfiles['visa-cvn18'] }
  const cardKey = await deriveCardKey(
    'A',
    { encipher: async (blocks) => encipherTdesEcb(keys['chip-dynamic'], blocks) },
    { pan: pan.reveal(), panSequenceNumber: '00' },
  )
  return { hsm, keys, card, chip, cardKey }
}

export function stripeGuarantees(subject: Subject): void {
  test('a CVV and an iCVV pass with the service code that they were made with', async () => {
    const { card, hsm } = await openStripes(subject)
    for (const serviceCode of ['201', '999']) {
      const made = { expiry: '3011', serviceCode }
      const digits = await generateCvv(pairOf(cvk), { pan: pan.reveal(), ...made })
      const value = { ...made, pan, value: new Secret(digits) }
      const verify = (change: Partial<typeof value>, key = 'cvk/1') =>
        hsm.verifyCvv(card, key, { ...value, ...change })
      assert.equal(await verify({}), true)
      assert.equal(await verify({ value: new Secret(wrongOf(digits)) }), false)
      assert.equal(await verify({ pan: otherPan }), false)
      assert.equal(await verify({ serviceCode: '101', expiry: '3012' }), false)
      assert.equal(await verify({}, 'cvk/2'), false)
      for (const odd of ['', digits.slice(1), `${digits}0`, 'abc']) {
        assert.equal(await verify({ value: new Secret(odd) }), false)
      }
    }
  })

  test('the track of a card has its number, and a CVV that passes', async () => {
    const { card, hsm } = await openStripes(subject)
    const track = await hsm.revealTrack2(card, 'cvk/1', '3011', '201')
    const { discretionary, ...read } = track.reveal()
    assert.equal(read.pan.reveal(), pan.reveal())
    const value = { ...read, value: new Secret(discretionary.slice(5, 8)) }
    assert.equal(await hsm.verifyCvv(card, 'cvk/1', value), true)
    assert.equal(String(track), '****')
    await assert.rejects(hsm.revealTrack2(card, 'cvk/2', '3011', '201'))
  })

  test('a dynamic CVV passes with the counter that it was made with', async () => {
    const { cardKey, chip, hsm } = await openStripes(subject)
    const made = { expiry: '3011', serviceCode: '201', atc: '0042' }
    const digits = await generateDynamicCvv(cardKey, { pan: pan.reveal(), ...made })
    const value = { ...made, pan, value: new Secret(digits) }
    const verify = (change: Partial<typeof value>, key = 'chip-dynamic/1') =>
      hsm.verifyDynamicCvv(chip, key, { ...value, ...change })
    assert.equal(await verify({}), true)
    assert.equal(await verify({ value: new Secret(wrongOf(digits)) }), false)
    assert.equal(await verify({ pan: otherPan }), false)
    assert.equal(await verify({ atc: '42' }), false)
    assert.equal(await verify({}, 'chip-dynamic/2'), false)
  })

  test('a CVC3 passes with the last digits that the track holds', async () => {
    const { cardKey, chip, hsm } = await openStripes(subject)
    const track = Buffer.from('4000001234567899D30112010000000000000F', 'hex')
    const made = { unpredictableNumber: Buffer.from('00000899', 'hex'), atc: Buffer.of(0, 94) }
    const iv = computeIvCvc3(cardKey, track)
    const digits = computeCvc3(cardKey, iv, made.unpredictableNumber, made.atc).slice(-3)
    const value = { ...made, pan, track: new Secret(track), value: new Secret(digits) }
    const verify = (change: Partial<typeof value>, key = 'chip-dynamic/1') =>
      hsm.verifyCvc3(chip, key, { ...value, ...change })
    assert.equal(await verify({}), true)
    assert.equal(await verify({ value: new Secret(wrongOf(digits)) }), false)
    assert.equal(await verify({ pan: otherPan }), false)
    assert.equal(await verify({ atc: Buffer.of(94) }), false)
    assert.equal(await verify({}, 'chip-dynamic/2'), false)
  })

  test('a CAVV passes for the card and the authentication that it was made for', async () => {
    const { card, hsm, keys } = await openStripes(subject)
    const made = { unpredictableNumber: '7993', authenticationResult: '700' }
    const inputs = { pan: pan.reveal(), expiry: '7993', serviceCode: '700' }
    const digits = await generateCvv(pairOf(keys.cavv), inputs)
    const value = { ...made, value: new Secret(digits) }
    const verify = (change: Partial<typeof value>, key = 'cavv/1') =>
      hsm.verifyCavv(card, key, { ...value, ...change })
    assert.equal(await verify({}), true)
    assert.equal(await verify({ value: new Secret(wrongOf(digits)) }), false)
    assert.equal(await verify({ unpredictableNumber: '799' }), false)
    assert.equal(await verify({}, 'cavv/2'), false)
    assert.equal(await verify({}, 'cvk/1'), false)
  })
}
