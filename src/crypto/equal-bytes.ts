import { timingSafeEqual } from 'node:crypto'

/** Whether two byte strings are equal, in a time that depends on nothing but their lengths. */
export function areEqualBytes(left: Uint8Array, right: Uint8Array): boolean {
  return left.length === right.length && timingSafeEqual(left, right)
}

/** Whether two digit strings are equal, in a time that depends on nothing but their lengths. */
export function areEqualDigits(left: string, right: string): boolean {
  return areEqualBytes(Buffer.from(left), Buffer.from(right))
}
