import { decipherAesEcb, encipherAesEcb } from '../../src/crypto/aes.ts'
import { decipherPinBlock, encipherPinBlock } from '../../src/crypto/pin-block.ts'
import { refuse } from '../../src/crypto/refusal.ts'
import { decipherTdesEcb, encipherTdesEcb } from '../../src/crypto/tdes.ts'
import type { PinBlockContext } from './pin-blocks.ts'

/** Keys whose bytes a test or a vector knows, in the form in which primitives take them. */

const ciphers = {
  AES: { encipher: encipherAesEcb, decipher: decipherAesEcb },
  TDES: { encipher: encipherTdesEcb, decipher: decipherTdesEcb },
} as const

/** A key over whole blocks: TDES of 8, 16 or 24 bytes, AES of 16, 24 or 32. */
export const clearBlockKey = (cipher: keyof typeof ciphers, key: Uint8Array) => ({
  cipher,
  encipher: async (blocks: Uint8Array) => ciphers[cipher].encipher(key, blocks),
  decipher: async (blocks: Uint8Array) => ciphers[cipher].decipher(key, blocks),
})

/** A CVK pair of 16 bytes. @throws CryptoRefusal `cvv_refused` on any other length. */
export function clearCvkPair(cvkPair: Uint8Array) {
  if (cvkPair.length !== 16) refuse('cvv_refused')
  return {
    encipherWithA: async (block: Uint8Array) => encipherTdesEcb(cvkPair.subarray(0, 8), block),
    encipherWithBoth: async (block: Uint8Array) => encipherTdesEcb(cvkPair, block),
  }
}

const keyOf = ({ format, key }: PinBlockContext) =>
  clearBlockKey(format === 4 ? 'AES' : 'TDES', key)

/** The block that the product makes of a PIN under a key whose bytes are known. */
export const encipherUnder = (
  context: PinBlockContext,
  pin: string,
  fill?: Uint8Array,
): Promise<Buffer> =>
  encipherPinBlock(`ISO_FORMAT_${context.format}`, keyOf(context), pin, { pan: context.pan, fill })

/** The PIN that the product reads in a block under a key whose bytes are known. */
export const decipherUnder = (context: PinBlockContext, block: Uint8Array): Promise<string> =>
  decipherPinBlock(`ISO_FORMAT_${context.format}`, keyOf(context), block, context.pan)
