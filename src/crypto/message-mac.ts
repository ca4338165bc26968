import { aesBlockLength } from './aes.ts'
import { cmacBlocks } from './cmac.ts'
import { refuse, xor } from './refusal.ts'
import { desBlockLength } from './tdes.ts'

/**
 * A MAC key as the methods below use it: enciphers whole blocks in CBC mode from an IV of zeros and
 * returns the last block. The key may be outside this process.
 */
export interface MacChain {
  /** With the first key of a TDES pair only, as single DES. */
  withA(blocks: Uint8Array): Promise<Buffer>
  /** With the whole key. */
  withWhole(blocks: Uint8Array): Promise<Buffer>
}

/** The methods that compute a MAC of 8 bytes over a message of at least one byte. */
type MacMethod = 'cbc' | 'retail' | 'cmac'

export const messageMacs: Readonly<
  Record<MacMethod, (chain: MacChain, message: Uint8Array) => Promise<Buffer>>
> = {
  /** TDES in CBC mode (ISO 16609; ISO/IEC 9797-1 algorithm 1), padding 1. */
  cbc: (chain, message) => chain.withWhole(paddedWithZeros(message)),
  /** The retail MAC (ISO/IEC 9797-1 algorithm 3, ANSI X9.19), padding 1. */
  async retail(chain, message) {
    const blocks = paddedWithZeros(message)
    const last = blocks.subarray(-desBlockLength)
    if (blocks.length === desBlockLength) return chain.withWhole(last)
    const before = await chain.withA(blocks.subarray(0, -desBlockLength))
    // Enciphering with A, deciphering with B and enciphering with A is TDES with the whole key.
    return chain.withWhole(xor(before, last))
  },
  /** The left half of the AES-CMAC (SP 800-38B, ISO/IEC 9797-1 algorithm 5). */
  async cmac(chain, message) {
    const ofZeros = await chain.withWhole(Buffer.alloc(aesBlockLength))
    const mac = await chain.withWhole(cmacBlocks(ofZeros, aesBlockLength, message))
    return mac.subarray(0, 8)
  },
}

/**
 * Padding 1 of ISO/IEC 9797-1 does not distinguish a message from the same message with trailing
 * zeros. Card messages are safe because each has a fixed length.
 */
function paddedWithZeros(message: Uint8Array): Buffer {
  if (message.length === 0) refuse('message_mac_refused')
  const padded = Buffer.alloc(Math.ceil(message.length / desBlockLength) * desBlockLength)
  padded.set(message)
  return padded
}
