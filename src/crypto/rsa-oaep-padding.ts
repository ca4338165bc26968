import { createHash } from 'node:crypto'
import { refuse, xor } from './refusal.ts'

const hashLength = 32
const none = Buffer.alloc(0)

/**
 * Removes the padding of RSAES-OAEP with SHA-256 and MGF1-SHA-256 from the result of the bare RSA
 * operation (RFC 8017 7.1.2, step 3), for a key outside this process. No branch and no index
 * depends on the padding before all of it was checked: a difference would let an attacker decipher
 * any ciphertext (Manger, 2001).
 * @param encoded as long as the modulus, leading zeros included.
 * @param label the authenticated bytes.
 * @returns the message, which may be empty.
 * @throws CryptoRefusal `rsa_oaep_refused`, whatever is wrong.
 */
export function removeOaepPadding(encoded: Uint8Array, label: Uint8Array = none): Buffer {
  if (encoded.length < 2 * hashLength + 2) return refuse('rsa_oaep_refused')
  const maskedSeed = encoded.subarray(1, 1 + hashLength)
  const maskedBlock = encoded.subarray(1 + hashLength)
  const seed = xor(maskedSeed, mgf1(maskedBlock, hashLength))
  const block = xor(maskedBlock, mgf1(seed, maskedBlock.length))
  const { fault, start } = readBlock(block, sha256(label))
  return (fault | (encoded[0] ?? 1)) === 0 ? block.subarray(start) : refuse('rsa_oaep_refused')
}

/**
 * Finds the message in a data block: the label's hash, zeros, a one, the message.
 * @returns `fault` 0 if the block is valid.
 */
function readBlock(block: Buffer, labelHash: Buffer): { fault: number; start: number } {
  let fault = labelHash.reduce((all, byte, at) => all | (byte ^ (block[at] ?? 0)), 0)
  let start = 0
  let isPadding = 1
  for (const [at, byte] of block.entries()) {
    // 1 after the hash of the label, otherwise 0.
    const isBehindHash = ((hashLength - 1 - at) >> 31) & 1
    const isLooked = isPadding & isBehindHash
    const isOne = isZero(byte ^ 1)
    fault |= isLooked & (isOne ^ 1) & (isZero(byte) ^ 1)
    start |= (at + 1) * (isLooked & isOne)
    isPadding ^= isLooked & isOne
  }
  return { fault: fault | isPadding, start }
}

/** Returns 1 or 0, without a branch. */
const isZero = (byte: number): number => ((byte - 1) >> 31) & 1

/** MGF1 with SHA-256 (RFC 8017 B.2.1). */
function mgf1(seed: Uint8Array, length: number): Buffer {
  const count = Math.ceil(length / hashLength)
  const rounds = Array.from({ length: count }, (_, counter) => {
    const suffix = Buffer.alloc(4)
    suffix.writeUInt32BE(counter)
    return sha256(Buffer.concat([seed, suffix]))
  })
  return Buffer.concat(rounds).subarray(0, length)
}

const sha256 = (bytes: Uint8Array): Buffer => createHash('sha256').update(bytes).digest()
