import assert from 'node:assert/strict'
import fc from 'fast-check'
import { CryptoRefusal, type RefusalCode } from '../../src/crypto/refusal.ts'
import { cases as casesOf } from '../support/cases.ts'

/** How many random cases a property is tried with. */
export const cases = casesOf(2_000, 10_000)

/** How many where each case costs several operations. */
export const fewerCases = casesOf(500, 2_000)

/** Decimal digits. */
export function digits(minLength: number, maxLength: number): fc.Arbitrary<string> {
  return fc.string({ unit: fc.constantFrom(...'0123456789'), minLength, maxLength })
}

/** A PIN of any length that ISO 9564-1 allows. */
export const pins = digits(4, 12)

/** Bytes of one of some lengths. */
export function bytes(...lengths: readonly number[]): fc.Arbitrary<Uint8Array> {
  return fc.oneof(
    ...lengths.map((length) => fc.uint8Array({ minLength: length, maxLength: length })),
  )
}

const isRefusal = (code: RefusalCode) => (error: unknown) =>
  error instanceof CryptoRefusal && error.code === code

/** Asserts that an operation leaves by the one failure exit of its primitive. */
export function refused(code: RefusalCode, operation: () => unknown): void {
  assert.throws(operation, isRefusal(code))
}

/** The same of an operation that works with a key wherever it lies. */
export const refusedLater = (code: RefusalCode, operation: () => Promise<unknown>): Promise<void> =>
  assert.rejects(operation, isRefusal(code))
