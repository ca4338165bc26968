import assert from 'node:assert/strict'
import { isPublicToken, type PublicToken } from '../../src/domain/identifiers.ts'

/** A card's token that a test has as a text. */
export function publicTokenOf(text: string): PublicToken {
  assert.ok(isPublicToken(text), 'not a public token')
  return text
}
