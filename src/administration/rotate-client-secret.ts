import { Problem, validationFailed } from '../errors.ts'
import { once } from '../idempotency/once.ts'
import type { Answer, RepeatableRequest } from '../idempotency/remembered.ts'
import { generateClientSecret, hashClientSecret } from '../oauth/client-secret.ts'
import { findAdministeredClient, replaceClientSecret } from '../storage/administered-clients.ts'
import { holdInstallation } from '../storage/installation.ts'
import { type Administration, type Operator, recordAct } from './administration.ts'
import { recordCredentials } from './credential-changes.ts'

/** A client's id and, the first time that it is answered, its new secret. */
export interface RotatedClientSecret {
  readonly clientId: string
  readonly clientSecret?: string
  /** Until when the one before is taken; null where it is not. */
  readonly previousSecretUntil: string | null
}

/**
 * Gives a client another secret. The one before is taken for so many hours more, so that the client can
 * change over; with none of them it ends at once. A repeat of the request changes nothing and does not
 * show the secret.
 * @throws `Problem` `not_found`; `validation_failed` where the client has keys in place of a secret.
 */
export async function rotateClientSecret(
  administration: Administration,
  operator: Operator,
  clientId: string,
  overlapHours: number,
  request: RepeatableRequest | null,
): Promise<Answer<RotatedClientSecret>> {
  const clientSecret = generateClientSecret()
  const { replayed, result } = await once(administration, request, async (connection) => {
    await holdInstallation(connection)
    if (!(await findAdministeredClient(connection, clientId))) throw new Problem('not_found')
    const secretHash = hashClientSecret(clientSecret)
    const until = await replaceClientSecret(connection, clientId, secretHash, overlapHours)
    if (until === undefined) {
      throw validationFailed({ pointer: '', detail: 'is for clients that have a secret, not keys' })
    }
    await recordCredentials(connection, operator, clientId)
    const previousSecretUntil = until?.toISOString() ?? null
    const act = { act: 'secret rotated', subjectKind: 'client', subject: clientId } as const
    await recordAct(connection, operator, { ...act, details: { previousSecretUntil } })
    return { clientId, previousSecretUntil }
  })
  return { replayed, result: replayed ? result : { ...result, clientSecret } }
}
