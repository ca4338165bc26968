import assert from 'node:assert/strict'
import { isPublicToken, type PublicToken } from '../../src/domain/identifiers.ts'
import { Secret } from '../../src/domain/secret.ts'
import type { TestService } from './service.ts'

/** A card's token that a test has as a text. */
export function publicTokenOf(text: string): PublicToken {
  assert.ok(isPublicToken(text), 'not a public token')
  return text
}

/** What the service keeps in the place of an idempotency key. */
export async function keyHashOf(
  { issuing }: Pick<TestService, 'issuing'>,
  idempotencyKey: string,
  clientId = 'demo-client',
): Promise<Uint8Array> {
  const given = { clientId, idempotencyKey, request: new Secret('') }
  const [active] = await issuing.hsm.fingerprintRequest(given)
  if (!active) throw new Error('The HSM has no key for it.')
  return active.keyHash
}
