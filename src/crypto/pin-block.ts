import { decodePinBlockFormat0, encodePinBlockFormat0 } from './pin-block-format-0.ts'
import { decodePinBlockFormat1, encodePinBlockFormat1 } from './pin-block-format-1.ts'
import { decodePinBlockFormat3, encodePinBlockFormat3 } from './pin-block-format-3.ts'
import { decodePinFieldFormat4, panFieldFormat4, pinFieldFormat4 } from './pin-block-format-4.ts'
import { refuse, xor } from './refusal.ts'

/** The formats of PIN blocks between zones. Format 2 is for chips only (ISO 9564-1:2017 9.3). */
type Format = 'ISO_FORMAT_0' | 'ISO_FORMAT_1' | 'ISO_FORMAT_3' | 'ISO_FORMAT_4'

/**
 * A PIN encryption key, in this process or in a token. It works on whole blocks of its cipher, each
 * block separately (ECB).
 */
interface PinEncryptionKey {
  readonly cipher: 'TDES' | 'AES'
  encipher(blocks: Uint8Array): Promise<Buffer>
  decipher(blocks: Uint8Array): Promise<Buffer>
}

/** The content of a PIN block besides the PIN. */
interface BlockFields {
  /** 13 to 19 digits for formats 0 and 3, 1 to 19 for format 4; format 1 ignores it. */
  readonly pan: string
  /** Nibbles for formats 1 and 3, 8 bytes for format 4; random by default. */
  readonly fill?: Uint8Array | undefined
}

/** How a format encodes and enciphers a PIN. */
interface FormatRules {
  readonly cipher: PinEncryptionKey['cipher']
  readonly lengthBytes: 8 | 16
  encipher(key: PinEncryptionKey, pin: string, fields: BlockFields): Promise<Buffer>
  decipher(key: PinEncryptionKey, block: Uint8Array, pan: string): Promise<string>
}

/** A format that enciphers the whole block at once (ISO 9564-1:2017 9.3). */
const inOneBlock = (
  encode: (pin: string, pan: string, fill?: Uint8Array) => Buffer,
  decode: (block: Uint8Array, pan: string) => string,
): FormatRules => ({
  cipher: 'TDES',
  lengthBytes: 8,
  encipher: (key, pin, { pan, fill }) => key.encipher(encode(pin, pan, fill)),
  decipher: async (key, block, pan) => decode(await key.decipher(block), pan),
})

const formats: Record<Format, FormatRules> = {
  ISO_FORMAT_0: inOneBlock(encodePinBlockFormat0, decodePinBlockFormat0),
  ISO_FORMAT_1: inOneBlock(
    (pin, _, fill) => encodePinBlockFormat1(pin, fill),
    decodePinBlockFormat1,
  ),
  ISO_FORMAT_3: inOneBlock(encodePinBlockFormat3, decodePinBlockFormat3),
  // AES of the PIN field, combined with the PAN field, AES again (ISO 9564-1:2017 9.4.2.3,
  // 9.4.2.4).
  ISO_FORMAT_4: {
    cipher: 'AES',
    lengthBytes: 16,
    async encipher(key, pin, { pan, fill }) {
      const panField = panFieldFormat4(pan)
      return key.encipher(xor(await key.encipher(pinFieldFormat4(pin, fill)), panField))
    },
    async decipher(key, block, pan) {
      const panField = panFieldFormat4(pan)
      return decodePinFieldFormat4(await key.decipher(xor(await key.decipher(block), panField)))
    },
  },
}

/**
 * Enciphers a PIN as a block of any format (ISO 9564-1:2017 9).
 *
 * @param key TDES for formats 0, 1 and 3; AES for format 4.
 * @param pin 4 to 12 digits.
 * @returns 8 bytes, or 16 for format 4.
 * @throws CryptoRefusal `pin_block_refused`, whatever is wrong with the inputs; RangeError if the
 *   key has another cipher; errors of the key.
 */
export async function encipherPinBlock(
  format: Format,
  key: PinEncryptionKey,
  pin: string,
  fields: BlockFields,
): Promise<Buffer> {
  const { cipher, encipher } = formats[format]
  if (key.cipher !== cipher) throw new RangeError(`${format} is not for a key of ${key.cipher}.`)
  return encipher(key, pin, fields)
}

/**
 * Deciphers a block of any format. In formats 0 and 3, a wrong PAN may return another PIN. In
 * format 4, a wrong PAN or key does so in about one of 2^24 cases, nearly always with 12 digits.
 *
 * @returns the PIN, 4 to 12 digits.
 * @throws CryptoRefusal `pin_block_refused`, whatever is wrong with the block, or if the key has
 *   another cipher; errors of the key.
 */
export async function decipherPinBlock(
  format: Format,
  key: PinEncryptionKey,
  block: Uint8Array,
  pan: string,
): Promise<string> {
  const { cipher, decipher, lengthBytes } = formats[format]
  if (key.cipher !== cipher || block.length !== lengthBytes) refuse('pin_block_refused')
  return decipher(key, block, pan)
}
