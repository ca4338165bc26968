import fc from 'fast-check'
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
