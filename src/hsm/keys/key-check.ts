import { createHash, createHmac, createPrivateKey, createPublicKey } from 'node:crypto'
import { aesKeyCheckValue, tdesKeyCheckValue } from '../../crypto/key-check-value.ts'
import { areEqualBytes } from '../../crypto/refusal.ts'
import type { KeyCheckMethod } from '../contract/key-administration.ts'
import { KeyRefusal } from '../contract/stored-keys.ts'

interface KeyCheck {
  readonly method: KeyCheckMethod
  of(key: Uint8Array): Buffer
}

/** The length of the check values without a standard length, in bytes. */
const lengthBytes = 5

/** The check value of each algorithm; AES and TDES as in X9.24-1:2017 annex A. */
const keyChecks: Readonly<Record<string, KeyCheck>> = {
  A: { method: 'CMAC', of: (key) => aesKeyCheckValue(key) },
  T: { method: 'X9.24 zeros', of: (key) => tdesKeyCheckValue(key) },
  // X9.143 defines none for these: the HMAC of an empty message, and the hash of the public half.
  H: {
    method: 'HMAC',
    of: (key) => createHmac('sha256', key).digest().subarray(0, lengthBytes),
  },
  E: { method: 'SPKI SHA-256', of: publicKeyHash },
  R: { method: 'SPKI SHA-256', of: publicKeyHash },
  1: { method: 'SPKI SHA-256', of: publicKeyHash },
}

function publicKeyHash(pkcs8: Uint8Array): Buffer {
  const key = createPrivateKey({ key: Buffer.from(pkcs8), format: 'der', type: 'pkcs8' })
  const spki = createPublicKey(key).export({ format: 'der', type: 'spki' })
  return createHash('sha256').update(spki).digest().subarray(0, lengthBytes)
}

/** Computes the check value of a key, in hexadecimal capitals. */
export const computeKeyCheckValue = (algorithm: string, key: Uint8Array): string =>
  selectKeyCheck(algorithm).of(key).toString('hex').toUpperCase()

export const selectKeyCheckMethod = (algorithm: string): KeyCheckMethod =>
  selectKeyCheck(algorithm).method

function selectKeyCheck(algorithm: string): KeyCheck {
  const check = keyChecks[algorithm]
  if (!check) throw new Error(`Keys of algorithm ${algorithm} are not supported.`)
  return check
}

/**
 * Computes a check value with all its digits: senders give between three bytes and the whole block.
 */
const wholeCheckValues: Readonly<Record<string, (key: Uint8Array) => Buffer>> = {
  A: (key) => aesKeyCheckValue(key, 16),
  T: (key) => tdesKeyCheckValue(key, 8),
}

/**
 * Compares a key with all digits of the check value from its sender; null skips the check.
 * @throws KeyRefusal if the values differ, or if the given one is shorter than three bytes.
 */
export function refuseOtherCheckValue(
  algorithm: string,
  key: Uint8Array,
  due: string | null,
): void {
  if (due === null) return
  const whole = (wholeCheckValues[algorithm] ?? selectKeyCheck(algorithm).of)(key)
  const given = Buffer.from(due.toUpperCase())
  const own = Buffer.from(whole.toString('hex').toUpperCase().slice(0, given.length))
  if (given.length < 6 || !areEqualBytes(given, own)) {
    throw new KeyRefusal('The check value of the key differs from the given one.')
  }
}
