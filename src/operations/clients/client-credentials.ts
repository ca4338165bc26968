import { listControllers, type Requester } from '../../domain/client.ts'
import { Problem, type ProblemError, validationFailed } from '../../domain/problem.ts'
import {
  type AdministeredClient,
  findAdministeredClient,
  replaceClientSecret,
} from '../../storage/clients/clients.ts'
import type { Connection } from '../../storage/engine/database.ts'
import { lockInstallation } from '../../storage/engine/installation.ts'
import { recordAct } from '../acts/acts.ts'
import { type Answer, once, type RepeatableRequest } from '../idempotency/idempotency.ts'
import {
  type AssertAllowed,
  type ClientContext,
  type ClientRecord,
  clientRecord,
  noClient,
} from './clients.ts'
import { generateClientSecret, hashClientSecret } from './credentials.ts'
import { recordCredentials, recordProvenance } from './provenance.ts'

/**
 * The confirmed version of a client's credentials, so that only reviewed credentials are confirmed.
 */
interface Confirmation {
  readonly clientId: string
  readonly credentialsVersion: number
}

/**
 * Records an administrator's statement that the credentials of another client are in the hands of
 * the right person, as verified outside this service. Those who registered the client or issued its
 * credentials no longer count as able to act as it, unless they can also act as the confirming
 * administrator.
 * @throws `Problem` `not_found`; `validation_failed` with every objection.
 */
export const confirmClient = (
  context: ClientContext,
  operator: Requester,
  confirmation: Confirmation,
  request: RepeatableRequest | null,
): Promise<Answer<ClientRecord>> =>
  once(context, request, async (connection) => {
    const { clientId, credentialsVersion } = confirmation
    // The lock prevents concurrent changes of credentials.
    await lockInstallation(connection)
    const before = await findAdministeredClient(connection, clientId)
    if (!before) throw new Problem('not_found', { detail: noClient })
    const faults = await confirmationFaults(connection, operator, before, credentialsVersion)
    if (faults.length > 0) throw validationFailed(...faults)
    await recordProvenance(connection, operator, clientId, 'confirmed')
    const after = clientRecord((await findAdministeredClient(connection, clientId)) ?? before)
    const { controlledBy } = after
    await recordAct(connection, operator, {
      act: 'confirmed',
      subjectKind: 'client',
      subject: clientId,
      details: { credentialsVersion, controlledBy },
    })
    return after
  })

/**
 * Only an administrator who is independent of a client's controllers can confirm it, and only
 * against controllers who do not control the administrator.
 */
async function confirmationFaults(
  connection: Connection,
  operator: Requester,
  client: AdministeredClient,
  seenVersion: number,
): Promise<readonly ProblemError[]> {
  const { active, clientId, credentialsVersion, formerCredentialsUntil, kind } = client
  const faults: ProblemError[] = []
  const refuse = (detail: string, pointer = '') => faults.push({ pointer, detail })
  if (kind !== 'admin') refuse('is for administrators only')
  if (!active) refuse('is for active clients only')
  if (seenVersion !== credentialsVersion) {
    refuse(`is now ${credentialsVersion}`, '/credentialsVersion')
  }
  if (formerCredentialsUntil) {
    const until = formerCredentialsUntil.toISOString()
    refuse(`must wait until tokens for other credentials have expired, at ${until}`)
  }
  const confirmer = await findAdministeredClient(connection, operator.clientId)
  const behindClient = listControllers(clientId, client.provenance)
  if (!confirmer?.active) {
    refuse('must be by an active client')
  } else if (behindClient.length === 1) {
    refuse('is not needed: only this client holds its credentials')
  } else if (behindClient.includes(confirmer.clientId)) {
    refuse(
      'must be by an administrator who did not register this client or issue its credentials, ' +
        'and is independent of those who did',
    )
  } else {
    const behindConfirmer = listControllers(confirmer.clientId, confirmer.provenance)
    const others = behindClient.filter((id) => id !== clientId)
    const both = others.filter((id) => behindConfirmer.includes(id))
    if (both.length === others.length) {
      refuse(`has no effect: ${both.join(', ')} could act as both of you`)
    }
  }
  return faults
}

/** A client's id and, in the first answer only, its new secret. */
interface RotatedClientSecret {
  readonly clientId: string
  readonly clientSecret?: string
  /** The expiry of the previous secret; null if it is no longer accepted. */
  readonly previousSecretUntil: string | null
}

/** The client whose secret is rotated, and the hours for which the previous secret stays valid. */
interface SecretRotation {
  readonly clientId: string
  readonly overlapHours: number
  /**
   * The SHA-256 of a secret that the caller generated, in hexadecimal; null to generate one here.
   */
  readonly secretHash: string | null
  /** Checks under the lock whether the present client may get another secret. */
  readonly assertAllowed: AssertAllowed
}

/**
 * Gives a client another secret. The previous one stays valid for the given hours, so that the
 * client can switch; with 0 hours it ends at once. A repeat of the request changes nothing and does
 * not show the secret. A secret from the caller is not shown.
 * @throws `Problem` `not_found`; `validation_failed` if the client has keys instead of a secret.
 */
export async function rotateClientSecret(
  context: ClientContext,
  operator: Requester,
  { assertAllowed, clientId, overlapHours, secretHash: given }: SecretRotation,
  request: RepeatableRequest | null,
): Promise<Answer<RotatedClientSecret>> {
  const clientSecret = generateClientSecret()
  const { replayed, result } = await once(context, request, async (connection) => {
    await lockInstallation(connection)
    const before = await findAdministeredClient(connection, clientId)
    if (!before) throw new Problem('not_found', { detail: noClient })
    assertAllowed(clientRecord(before))
    const secretHash = given === null ? hashClientSecret(clientSecret) : Buffer.from(given, 'hex')
    const until = await replaceClientSecret(connection, clientId, secretHash, overlapHours)
    if (until === undefined) {
      throw validationFailed({
        pointer: '',
        detail: 'requires a client with a secret; this client has keys',
      })
    }
    await recordCredentials(connection, operator, clientId)
    const previousSecretUntil = until?.toISOString() ?? null
    const act = { act: 'secret rotated', subjectKind: 'client', subject: clientId } as const
    await recordAct(connection, operator, { ...act, details: { previousSecretUntil } })
    return { clientId, previousSecretUntil }
  })
  const isShown = given === null && !replayed
  return { replayed, result: isShown ? { ...result, clientSecret } : result }
}
