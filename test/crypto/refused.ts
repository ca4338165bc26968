import assert from 'node:assert/strict'
import { CryptoRefusal, type RefusalCode } from '../../src/crypto/refusal.ts'

/** Asserts that an operation leaves by the one failure exit of its primitive. */
export function refused(code: RefusalCode, operation: () => unknown): void {
  assert.throws(operation, (error) => error instanceof CryptoRefusal && error.code === code)
}
