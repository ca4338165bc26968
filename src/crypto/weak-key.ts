import { setOddParity } from './des-parity.ts'
import { areEqualBytes } from './equal-bytes.ts'

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
 * @param key 8 bytes; any other length is not a DES key, and so not a weak one.
 */
export function isWeakDesKey(key: Uint8Array): boolean {
  const adjusted = setOddParity(key)
  return weakDesKeys.filter((weak) => areEqualBytes(weak, adjusted)).length > 0
}

/**
 * Whether two neighbouring single keys in a TDES key are equal but for parity, so that it is no
 * stronger than single DES (SP 800-67 section 3).
 *
 * @param key 16 or 24 bytes.
 */
export function hasEqualParts(key: Uint8Array): boolean {
  const parts = partsOf(key)
  return parts.some((part, at) => {
    const next = parts[at + 1]
    return next !== undefined && areEqualBytes(part, next)
  })
}

/**
 * Whether a TDES key is weak: a part is a weak or semi-weak DES key, or neighbouring parts are
 * equal.
 *
 * @param key 16 or 24 bytes.
 */
export function isWeakTdesKey(key: Uint8Array): boolean {
  return hasEqualParts(key) || partsOf(key).some(isWeakDesKey)
}

/** The single keys of a TDES key, with odd parity. */
function partsOf(key: Uint8Array): readonly Buffer[] {
  const adjusted = setOddParity(key)
  const count = Math.ceil(key.length / 8)
  return Array.from({ length: count }, (_, at) => adjusted.subarray(8 * at, 8 * at + 8))
}
