import assert from 'node:assert/strict'
import { isPublicToken, type PublicToken } from '../../src/domain/identifiers.ts'
import { Secret } from '../../src/domain/secret.ts'
import type { TestService } from './service.ts'

/** A card's token that a test has as a text. */
export function parsePublicToken(text: string): PublicToken {
  assert.ok(isPublicToken(text), 'not a public token')
  return text
}

const uuids = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/gi
const instants = /\d{4}-\d\d-\d\d[T ][\d:.]+/g
const publicTokens = /\b\d{10}\b/g

/**
 * A text without the ids and the instants in it: their digits are drawn or measured, and may be
 * those of any PIN.
 */
export const withoutIds = (text: string): string =>
  [uuids, instants, publicTokens].reduce((left, each) => left.replaceAll(each, ''), text)

/** What the service keeps in the place of an idempotency key. */
export async function computeKeyHash(
  { issuing }: Pick<TestService, 'issuing'>,
  idempotencyKey: string,
  clientId = 'demo-client',
): Promise<Uint8Array> {
  const given = { clientId, idempotencyKey, request: new Secret('') }
  const [active] = await issuing.hsm.fingerprintRequest(given)
  if (!active) throw new Error('The HSM has no key for it.')
  return active.keyHash
}
