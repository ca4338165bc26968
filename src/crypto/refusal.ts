import { timingSafeEqual } from 'node:crypto'

/** One code per primitive. The code never states which check failed: that would be an oracle. */
export type RefusalCode = keyof typeof messages

const messages = {
  aes_refused: 'The AES key or input is not usable.',
  aes_gcm_refused: 'The sealed bytes did not open.',
  tdes_refused: 'The TDES key or input is not usable.',
  key_check_value_refused: 'The key check value cannot be made.',
  key_components_refused: 'The key components do not combine.',
  key_block_refused: 'The key block is not usable.',
  pin_block_refused: 'The PIN block is not usable.',
  pvv_refused: 'The PIN verification value cannot be made.',
  cvv_refused: 'The card verification value cannot be made.',
  key_derivation_refused: 'The key cannot be derived.',
  jwe_refused: 'The JWE did not open.',
  public_jwk_refused: 'The public key is not usable.',
  agreement_refused: 'The keys do not agree on a secret.',
  message_mac_refused: 'The MAC of the message cannot be made.',
  emv_refused: 'The value of the chip cannot be made.',
  rsa_oaep_refused: 'The RSA ciphertext did not open.',
} as const

/**
 * The only error that this directory throws on purpose. Its `message` and `code` do not depend on a
 * key, a PIN, a PAN or the check that failed.
 */
export class CryptoRefusal extends Error {
  /** The primitive that refused; stable. */
  readonly code: RefusalCode

  constructor(code: RefusalCode) {
    super(messages[code])
    this.name = 'CryptoRefusal'
    this.code = code
  }
}

/**
 * Throws the one failure of a primitive.
 *
 * @throws CryptoRefusal always.
 */
export function refuse(code: RefusalCode): never {
  throw new CryptoRefusal(code)
}

/**
 * Runs `operation` and turns every failure in it, of a check or of OpenSSL, into the one failure of
 * `code`.
 *
 * @throws CryptoRefusal with `code`.
 */
export function orRefuse<Result>(code: RefusalCode, operation: () => Result): Result {
  try {
    return operation()
  } catch {
    return refuse(code)
  }
}

/** Returns null for a refusal of the cryptography. Other faults are thrown. */
export function orNull<Result>(operation: () => Result): Result | null {
  try {
    return operation()
  } catch (error) {
    if (error instanceof CryptoRefusal) return null
    throw error
  }
}

/** Whether `text` is `least` to `most` decimal digits and nothing else. */
export function isDigits(text: string, least: number, most: number): boolean {
  return text.length >= least && text.length <= most && /^[0-9]+$/.test(text)
}

/** Whether `pin` is a PIN of ISO 9564-1 clause 8.1: 4 to 12 decimal digits. */
export function isPinText(pin: string): boolean {
  return isDigits(pin, 4, 12)
}

/** Whether two byte strings are equal. The time depends on their lengths only. */
export function areEqualBytes(left: Uint8Array, right: Uint8Array): boolean {
  return left.length === right.length && timingSafeEqual(left, right)
}

/** Whether two digit strings are equal. The time depends on their lengths only. */
export function areEqualDigits(left: string, right: string): boolean {
  return areEqualBytes(Buffer.from(left), Buffer.from(right))
}

/**
 * Returns the exclusive or of two byte strings of equal length.
 *
 * @throws RangeError if the lengths differ, which is a fault of the caller.
 */
export function xor(left: Uint8Array, right: Uint8Array): Buffer {
  if (left.length !== right.length) throw new RangeError('Only equal lengths can be combined.')
  return Buffer.from(left.map((byte, at) => byte ^ (right[at] ?? 0)))
}
