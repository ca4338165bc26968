import { areEqualBytes, refuse, xor } from './refusal.ts'

/** Returns 1 if a byte has an odd number of one bits, otherwise 0. */
function parity(byte: number): number {
  const nibble = byte ^ (byte >> 4)
  const pair = nibble ^ (nibble >> 2)
  return (pair ^ (pair >> 1)) & 1
}

/**
 * Sets the lowest bit of each byte so that every byte has an odd number of one bits
 * (FIPS 46-3, SP 800-67 section 3).
 *
 * @param key any length.
 * @returns a new key; its cryptographic value is the same.
 */
export function setOddParity(key: Uint8Array): Buffer {
  return adjustParity(Buffer.from(key))
}

/**
 * Does the same in place, so that no copy of a secret key remains.
 *
 * @returns the same buffer.
 */
export function adjustParity(key: Buffer): Buffer {
  for (const [at, byte] of key.entries()) key[at] = byte ^ parity(byte) ^ 1
  return key
}

/** Whether every byte of a key has an odd number of one bits. All bytes are checked. */
export function hasOddParity(key: Uint8Array): boolean {
  return key.reduce((all, byte) => all & parity(byte), 1) === 1
}

/** The 4 weak and 12 semi-weak keys of DES, with odd parity (SP 800-67 section 3). */
const weakDesKeys = [
  '0101010101010101',
  'fefefefefefefefe',
  'e0e0e0e0f1f1f1f1',
  '1f1f1f1f0e0e0e0e',
  '01fe01fe01fe01fe',
  'fe01fe01fe01fe01',
  '1fe01fe00ef10ef1',
  'e01fe01ff10ef10e',
  '01e001e001f101f1',
  'e001e001f101f101',
  '1ffe1ffe0efe0efe',
  'fe1ffe1ffe0efe0e',
  '011f011f010e010e',
  '1f011f010e010e01',
  'e0fee0fef1fef1fe',
  'fee0fee0fef1fef1',
].map((key) => Buffer.from(key, 'hex'))

/**
 * Whether a single DES key is weak or semi-weak, whatever its parity (SP 800-67 section 3).
 *
 * @param key 8 bytes; a key of any other length is not a DES key, and not weak.
 */
export function isWeakDesKey(key: Uint8Array): boolean {
  const adjusted = setOddParity(key)
  return weakDesKeys.filter((weak) => areEqualBytes(weak, adjusted)).length > 0
}

/**
 * Whether two adjacent parts of a TDES key are equal except for parity, so that the key is no
 * stronger than single DES (SP 800-67 section 3).
 *
 * @param key 16 or 24 bytes.
 */
export function hasEqualParts(key: Uint8Array): boolean {
  const parts = splitKey(key)
  return parts.some((part, at) => {
    const next = parts[at + 1]
    return next !== undefined && areEqualBytes(part, next)
  })
}

/**
 * Whether a TDES key is weak: a part is a weak or semi-weak DES key, or adjacent parts are equal.
 *
 * @param key 16 or 24 bytes.
 */
export function isWeakTdesKey(key: Uint8Array): boolean {
  return hasEqualParts(key) || splitKey(key).some(isWeakDesKey)
}

/** Splits a TDES key into its parts, with odd parity. */
function splitKey(key: Uint8Array): readonly Buffer[] {
  const adjusted = setOddParity(key)
  const count = Math.ceil(key.length / 8)
  return Array.from({ length: count }, (_, at) => adjusted.subarray(8 * at, 8 * at + 8))
}

/**
 * Combines the key components of several people by exclusive or (PCI PIN Security 3.1, requirement
 * 12). The parity is not adjusted.
 *
 * @param components two or more, of equal length, not empty.
 * @throws CryptoRefusal `key_components_refused` for anything else.
 */
export function combineComponents(components: readonly Uint8Array[]): Buffer {
  const [first, ...others] = components
  if (first === undefined || first.length === 0 || others.length === 0) {
    return refuse('key_components_refused')
  }
  if (others.some(({ length }) => length !== first.length)) refuse('key_components_refused')
  return others.reduce<Buffer>((key, component) => xor(key, component), Buffer.from(first))
}
