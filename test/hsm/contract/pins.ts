import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { generatePvv } from '../../../src/crypto/pvv.ts'
import { isPan, Pan } from '../../../src/domain/pan.ts'
import { Pin, weakPinReason } from '../../../src/domain/pin.ts'
import { keyCatalogue } from '../../../src/hsm/contract/catalogue.ts'
import { readPinBlock } from '../../reference/pin-blocks.ts'
import { cardOf, fitTdesKey, openWith, rules, type Subject, vectorsOf } from '../implementation.ts'

const panKey = randomBytes(32)
const pan = new Pan('4000001234567899')
const card = cardOf(panKey, pan)

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
