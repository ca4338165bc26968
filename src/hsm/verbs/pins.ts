import { decodePinBlockFormat0, encodePinBlockFormat0 } from '../../crypto/pin-block-format-0.ts'
import { decodePinBlockFormat1, encodePinBlockFormat1 } from '../../crypto/pin-block-format-1.ts'
import { decodePinBlockFormat3, encodePinBlockFormat3 } from '../../crypto/pin-block-format-3.ts'
import {
  decodePinFieldFormat4,
  panFieldFormat4,
  pinFieldFormat4,
} from '../../crypto/pin-block-format-4.ts'
import { pvvOf, transformedSecurityParameter } from '../../crypto/pvv.ts'
import { CryptoRefusal, xor } from '../../crypto/refusal.ts'
import type { Pan } from '../../domain/pan.ts'
import { Pin, weakPinReason } from '../../domain/pin.ts'
import type { Hsm, PinBlockFormat, PinRules, StoredPin, ZoneKeyAlgorithm } from '../contract/hsm.ts'
import type { BlockKey } from '../keys/key-engine.ts'
import { type KeyRing, referencedKey } from '../keys/key-ring.ts'
import type { DigitSource } from './hsm.ts'
import { openPan } from './records.ts'

/** The format that PINs are kept in. */
const storageFormat = 'ISO_FORMAT_4'
/** The only PIN verification key indicator in use: the version is part of the key's reference. */
const pvki = '1'

/** Draws, takes in and reveals PINs. */
export const pinVerbs = (
  ring: KeyRing,
  drawDigits: DigitSource,
): Pick<Hsm, 'generatePin' | 'importPin' | 'revealPin'> => ({
  async generatePin(card, rules) {
    return keepPin(ring, await openPan(ring, card), await drawPin(drawDigits, rules), rules)
  },
  async importPin(card, rules, pin) {
    const weakness = rules.refuseWeakPins ? weakPinReason(pin, rules) : null
    if (weakness !== null) return { pin: null, weakness }
    return { pin: await keepPin(ring, await openPan(ring, card), pin, rules), weakness: null }
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

async function keepPin(ring: KeyRing, pan: Pan, pin: Pin, rules: PinRules): Promise<StoredPin> {
  if (!rules.pinRevealable) {
    if (rules.pvk !== 'pvk') throw new Error(`A product names an unknown key: ${rules.pvk}.`)
    const { key, reference } = await ring.active(rules.pvk)
    return { pinBlock: null, pvv: await makePvv(key, pan, pin.reveal()), pinKey: reference }
  }
  return encipherStoredPin(ring, pan, pin.reveal())
}

/** A PIN as it is kept to be revealed. */
export async function encipherStoredPin(
  ring: KeyRing,
  pan: Pan,
  pin: string,
): Promise<Extract<StoredPin, { pvv: null }>> {
  const { key, reference } = await ring.active('pin-storage')
  const pinBlock = await encipherPinBlock(storageFormat, key, pin, pan.reveal())
  return { pinBlock, pvv: null, pinKey: reference }
}

/** The PIN in the block that is kept of it. */
export async function openPin(
  ring: KeyRing,
  pan: Pan,
  pinBlock: Uint8Array,
  pinKey: string,
): Promise<string> {
  const { key } = await referencedKey(ring, 'pin-storage', pinKey)
  const pin = await decipherPinBlock(storageFormat, key, pinBlock, pan.reveal())
  if (pin === null) throw new Error('This PIN block is not the one of this card.')
  return pin
}

/** The PVV of a PIN, 4 digits. */
export const makePvv = async (pvk: BlockKey, pan: Pan, pin: string): Promise<string> =>
  pvvOf(await pvk.encipher(transformedSecurityParameter({ pan: pan.reveal(), pvki, pin })))

interface PinBlockCipher {
  readonly cipher: ZoneKeyAlgorithm
  readonly lengthBytes: 8 | 16
  encipher(key: BlockKey, pin: string, pan: string): Promise<Buffer>
  /** @throws CryptoRefusal when it is no PIN block for this PAN. */
  decipher(key: BlockKey, block: Uint8Array, pan: string): Promise<string>
}

/** A format whose whole block is enciphered at once (ISO 9564-1:2017 9.3). */
const inOneBlock = (
  encode: (pin: string, pan: string) => Buffer,
  decode: (block: Uint8Array, pan: string) => string,
): PinBlockCipher => ({
  cipher: 'TDES',
  lengthBytes: 8,
  encipher: (key, pin, pan) => key.encipher(encode(pin, pan)),
  decipher: async (key, block, pan) => decode(await key.decipher(block), pan),
})

const formats: Record<PinBlockFormat, PinBlockCipher> = {
  ISO_FORMAT_0: inOneBlock(encodePinBlockFormat0, decodePinBlockFormat0),
  ISO_FORMAT_1: inOneBlock((pin) => encodePinBlockFormat1(pin), decodePinBlockFormat1),
  ISO_FORMAT_3: inOneBlock((pin, pan) => encodePinBlockFormat3(pin, pan), decodePinBlockFormat3),
  // The PIN field, the PAN field, and the cipher after each (ISO 9564-1:2017 9.4.2.4).
  ISO_FORMAT_4: {
    cipher: 'AES',
    lengthBytes: 16,
    async encipher(key, pin, pan) {
      const intermediate = await key.encipher(pinFieldFormat4(pin))
      return key.encipher(xor(intermediate, panFieldFormat4(pan)))
    },
    async decipher(key, block, pan) {
      const intermediate = xor(await key.decipher(block), panFieldFormat4(pan))
      return decodePinFieldFormat4(await key.decipher(intermediate))
    },
  },
}

/**
 * Enciphers a PIN under a key that may lie elsewhere.
 * @throws Error when the key is not of the cipher that the format is for.
 */
export async function encipherPinBlock(
  format: PinBlockFormat,
  key: BlockKey,
  pin: string,
  pan: string,
): Promise<Buffer> {
  const { cipher, encipher } = formats[format]
  if (key.cipher !== cipher) throw new Error(`${format} is not for a key of ${key.cipher}.`)
  return encipher(key, pin, pan)
}

/** The PIN in a block, or null, whatever is wrong with the block. Other faults are thrown. */
export async function decipherPinBlock(
  format: PinBlockFormat,
  key: BlockKey,
  block: Uint8Array,
  pan: string,
): Promise<string | null> {
  const { cipher, decipher, lengthBytes } = formats[format]
  if (key.cipher !== cipher || block.length !== lengthBytes) return null
  try {
    return await decipher(key, block, pan)
  } catch (error) {
    if (error instanceof CryptoRefusal) return null
    throw error
  }
}
