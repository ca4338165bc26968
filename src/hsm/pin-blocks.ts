import { decodePinBlockFormat0, encodePinBlockFormat0 } from '../crypto/pin-block-format-0.ts'
import { decodePinBlockFormat1, encodePinBlockFormat1 } from '../crypto/pin-block-format-1.ts'
import { decodePinBlockFormat3, encodePinBlockFormat3 } from '../crypto/pin-block-format-3.ts'
import {
  decodePinFieldFormat4,
  panFieldFormat4,
  pinFieldFormat4,
} from '../crypto/pin-block-format-4.ts'
import { CryptoRefusal } from '../crypto/refusal.ts'
import { xor } from '../crypto/xor.ts'
import type { PinBlockFormat, ZoneKeyAlgorithm } from './hsm.ts'
import type { BlockKey } from './working-key.ts'

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
