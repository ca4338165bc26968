import { refuse, xor } from './refusal.ts'
import { desBlockLength, encipherTdesCbc, encipherTdesEcb } from './tdes.ts'

/**
 * How a message is filled up to whole blocks (ISO/IEC 9797-1): padding 1 with zeros, and only where
 * needed; padding 2 always with a byte 80, then zeros.
 */
export type MacPadding = 1 | 2

/**
 * Computes a MAC by algorithm 3 of ISO/IEC 9797-1 (retail MAC), as chips do (EMV Book 2, A1.2.1).
 *
 * @param key 16 bytes.
 * @param message at least one byte.
 * @returns 8 bytes.
 * @throws CryptoRefusal `emv_refused` for another length.
 */
export function computeChipMac(key: Uint8Array, message: Uint8Array, padding: MacPadding): Buffer {
  if (key.length !== 16 || message.length === 0) refuse('emv_refused')
  const blocks = padMessage(message, padding)
  const before = blocks.subarray(0, -desBlockLength)
  const last = blocks.subarray(-desBlockLength)
  // With the left half alone, all blocks but the last are enciphered by one call.
  const chained =
    before.length === 0
      ? Buffer.alloc(desBlockLength)
      : encipherTdesCbc(key.subarray(0, 8), Buffer.alloc(desBlockLength), before).subarray(
          -desBlockLength,
        )
  return encipherTdesEcb(key, xor(chained, last))
}

/** Fills a message up to whole blocks. */
export function padMessage(message: Uint8Array, padding: MacPadding): Buffer {
  const marked = padding === 2 ? Buffer.concat([message, Buffer.of(0x80)]) : Buffer.from(message)
  const rest = marked.length % desBlockLength
  return rest === 0 ? marked : Buffer.concat([marked, Buffer.alloc(desBlockLength - rest)])
}
