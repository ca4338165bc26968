import { decipherPinBlock, encipherPinBlock } from '../../crypto/pin-block.ts'
import { generatePvv } from '../../crypto/pvv.ts'
import { CryptoRefusal } from '../../crypto/refusal.ts'
import type { Pan } from '../../domain/pan.ts'
import { Pin, weakPinReason } from '../../domain/pin.ts'
import type { PinRules, SealedPin, StoredPin } from '../contract/card.ts'
import type { Hsm, PinBlockFormat } from '../contract/hsm.ts'
import type { BlockKey } from '../keys/key-engine.ts'
import { type KeyRing, referencedKey } from '../keys/key-ring.ts'
import { type DigitSource, openPan } from './card-numbers.ts'

/** The format of stored PINs. */
const storageFormat = 'ISO_FORMAT_4'
/** The only PIN verification key indicator in use. The key's reference contains the version. */
const pvki = '1'

/** Generates, imports, translates and reveals PINs. */
export const pinVerbs = (
  ring: KeyRing,
  drawDigits: DigitSource,
): Pick<Hsm, 'generatePin' | 'importPin' | 'translatePin' | 'revealPin'> => ({
  async generatePin(card, rules) {
    return storablePin(ring, await openPan(ring, card), await drawPin(drawDigits, rules), rules)
  },
  async importPin(card, rules, pin) {
    const weakness = rules.refuseWeakPins ? weakPinReason(pin, rules) : null
    if (weakness !== null) return { pin: null, weakness }
    const pan = await openPan(ring, card)
    const stored = await storablePin(ring, pan, pin, rules)
    const chipPin = rules.hasChip ? await sealForChip(ring, pan, pin, stored) : null
    return { pin: stored, chipPin, weakness: null }
  },
  async translatePin(from, { pinBlock, pinKey }, to) {
    const pin = await openPin(ring, await openPan(ring, from), pinBlock, pinKey)
    return encipherStoredPin(ring, await openPan(ring, to), pin)
  },
  async revealPin(card, pin) {
    if (pin.pinBlock === null) throw new Error('A PVV does not reveal its PIN.')
    return new Pin(await openPin(ring, await openPan(ring, card), pin.pinBlock, pin.pinKey))
  },
})

async function drawPin(drawDigits: DigitSource, rules: PinRules): Promise<Pin> {
  const pin = new Pin(await drawDigits(rules.pinLength))
  return weakPinReason(pin, rules) === null ? pin : drawPin(drawDigits, rules)
}

async function storablePin(ring: KeyRing, pan: Pan, pin: Pin, rules: PinRules): Promise<StoredPin> {
  if (!rules.pinRevealable) {
    if (rules.pvk !== 'pvk') throw new Error(`A product names an unknown key: ${rules.pvk}.`)
    const { key, reference } = await ring.active(rules.pvk)
    return { pinBlock: null, pvv: await makePvv(key, pan, pin.reveal()), pinKey: reference }
  }
  return encipherStoredPin(ring, pan, pin.reveal())
}

/** A PVV does not reveal the PIN, so the chip needs a block of its own. */
const sealForChip = async (
  ring: KeyRing,
  pan: Pan,
  pin: Pin,
  stored: StoredPin,
): Promise<SealedPin> =>
  stored.pinBlock === null ? encipherStoredPin(ring, pan, pin.reveal()) : stored

/** Enciphers a PIN in the stored form that can be revealed. */
export async function encipherStoredPin(ring: KeyRing, pan: Pan, pin: string): Promise<SealedPin> {
  const { key, reference } = await ring.active('pin-storage')
  const pinBlock = await encipherPinBlock(storageFormat, key, pin, { pan: pan.reveal() })
  return { pinBlock, pvv: null, pinKey: reference }
}

/** Opens the PIN in its stored block. */
export async function openPin(
  ring: KeyRing,
  pan: Pan,
  pinBlock: Uint8Array,
  pinKey: string,
): Promise<string> {
  const { key } = await referencedKey(ring, 'pin-storage', pinKey)
  const pin = await readPinBlock(storageFormat, key, pinBlock, pan)
  if (pin === null) throw new Error('The PIN block does not belong to this card.')
  return pin
}

/** Generates the PVV of a PIN, 4 digits. */
export const makePvv = (pvk: BlockKey, pan: Pan, pin: string): Promise<string> =>
  generatePvv(pvk, { pan: pan.reveal(), pvki, pin })

/**
 * Reads the PIN in a block, or returns null for any fault of the block. Other faults are thrown.
 */
export async function readPinBlock(
  format: PinBlockFormat,
  key: BlockKey,
  block: Uint8Array,
  pan: Pan,
): Promise<string | null> {
  try {
    return await decipherPinBlock(format, key, block, pan.reveal())
  } catch (error) {
    if (error instanceof CryptoRefusal) return null
    throw error
  }
}
