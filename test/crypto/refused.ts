import assert from 'node:assert/strict'
import { CryptoRefusal, type RefusalCode } from '../../src/crypto/refusal.ts'

const isRefusal = (code: RefusalCode) => (error: unknown) =>
  error instanceof CryptoRefusal && error.code === code

/** Asserts that an operation leaves by the one failure exit of its primitive. */
export function refused(code: RefusalCode, operation: () => unknown): void {
  assert.throws(operation, isRefusal(code))
}

/** The same of an operation that works with a key wherever it lies. */
export const refusedLater = (code: RefusalCode, operation: () => Promise<unknown>): Promise<void> =>
  assert.rejects(operation, isRefusal(code))
