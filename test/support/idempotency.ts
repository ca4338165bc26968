import { Secret } from '../../src/domain/secret.ts'
import type { TestService } from './service.ts'

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
