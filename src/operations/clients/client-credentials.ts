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
} from './clients.ts'
import { generateClientSecret, hashClientSecret } from './credentials.ts'
import { recordCredentials, recordProvenance } from './provenance.ts'

/**
 * Which credentials of a client are confirmed: those that were looked at, so that nobody confirms
 * others unseen.
 */
interface Confirmation {
  readonly clientId: string
  readonly credentialsVersion: number
}

/**
 * Puts on record that an administrator made sure, outside of this service, that the credentials of
 * another are in the hands of the person they are for. Those who registered the other or gave them
 * out no longer count as able to act for it, unless they could act for the one who confirms, too.
 * @throws `Problem` `not_found`; `validation_failed` with everything that stands against it.
 */
export const confirmClient = (
  context: ClientContext,
  operator: Requester,
  confirmation: Confirmation,
  request: RepeatableRequest | null,
): Promise<Answer<ClientRecord>> =>
  once(context, request, async (connection) => {
    const { clientId, credentialsVersion } = confirmation
    // Nobody changes credentials meanwhile.
    await lockInstallation(connection)
    const before = await findAdministeredClient(connection, clientId)
    if (!before) throw new Problem('not_found')
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
 * Only who had no hand in a client can vouch for it, and only against those behind it who are not
 * behind them.
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

/** A client's id and, the first time that it is answered, its new secret. */
interface RotatedClientSecret {
  readonly clientId: string
  readonly clientSecret?: string
  /** Until when the one before is taken; null where it is not. */
  readonly previousSecretUntil: string | null
}

/** Whose secret is rotated, and how many hours more the one before is taken. */
interface SecretRotation {
  readonly clientId: string
  readonly overlapHours: number
  /** SHA-256 of a secret that the caller made, in hexadecimal; null: one is made here. */
  readonly secretHash: string | null
  /** Judges under the lock whether the client as it is then may be given another secret. */
  readonly assertAllowed: AssertAllowed
}

/**
 * Gives a client another secret. The one before is taken for so many hours more, so that the client
 * can change over; with none of them it ends at once. A repeat of the request changes nothing and
 * does not show the secret. One that the caller made is not shown.
 * @throws `Problem` `not_found`; `validation_failed` where the client has keys in place of a
 *   secret.
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
    if (!before) throw new Problem('not_found')
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
