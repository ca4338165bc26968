import { decipherPinBlockFormat4, encipherPinBlockFormat4 } from '../crypto/pin-block-format-4.ts'
import { generatePvv } from '../crypto/pvv.ts'
import type { Pan } from '../domain/pan.ts'
import { Pin } from '../domain/pin.ts'
import { weakPinReason } from '../domain/weak-pin.ts'
import { activeReference, openPan } from './card-number-verbs.ts'
import type { Hsm, PinRules, StoredPin } from './hsm.ts'
import type { KeyRing } from './key-ring.ts'
import type { DigitSource } from './random-digits.ts'

/** The only PIN verification key indicator in use: the version is part of the key's reference. */
export const pvki = '1'

/** Draws, takes in and reveals PINs. */
export const pinVerbs = (
  ring: KeyRing,
  drawDigits: DigitSource,
): Pick<Hsm, 'generatePin' | 'importPin' | 'revealPin'> => ({
  async generatePin(card, rules) {
    return keepPin(ring, openPan(ring, card), drawPin(drawDigits, rules), rules)
  },
  async importPin(card, rules, pin) {
    const weakness = rules.refuseWeakPins ? weakPinReason(pin, rules) : null
    if (weakness !== null) return { pin: null, weakness }
    return { pin: keepPin(ring, openPan(ring, card), pin, rules), weakness: null }
  },
  async revealPin(card, pin) {
    if (pin.pinBlock === null) throw new Error('A PVV does not reveal its PIN.')
    const key = ring.referenced(pin.pinKey).key.reveal()
    return new Pin(decipherPinBlockFormat4(pin.pinBlock, openPan(ring, card).reveal(), key))
  },
})

function drawPin(drawDigits: DigitSource, rules: PinRules): Pin {
  const pin = new Pin(drawDigits(rules.pinLength))
  return weakPinReason(pin, rules) === null ? pin : drawPin(drawDigits, rules)
}

function keepPin(ring: KeyRing, pan: Pan, pin: Pin, rules: PinRules): StoredPin {
  const pinKeyReference = rules.pinRevealable
    ? ring.active('pin-storage').reference
    : activeReference(ring, rules.pvk)
  const key = ring.referenced(pinKeyReference).key.reveal()
  if (rules.pinRevealable) {
    const pinBlock = encipherPinBlockFormat4(pin.reveal(), pan.reveal(), key)
    return { pinBlock, pvv: null, pinKey: pinKeyReference }
  }
  const pvv = generatePvv(key, { pan: pan.reveal(), pvki, pin: pin.reveal() })
  return { pinBlock: null, pvv, pinKey: pinKeyReference }
}
