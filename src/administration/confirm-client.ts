import { controllersOf } from '../domain/provenance.ts'
import { Problem, type ProblemError, validationFailed } from '../errors.ts'
import { once } from '../idempotency/once.ts'
import type { Answer, RepeatableRequest } from '../idempotency/remembered.ts'
import { type AdministeredClient, findAdministeredClient } from '../storage/administered-clients.ts'
import type { Connection } from '../storage/database.ts'
import { holdInstallation } from '../storage/installation.ts'
import { type Administration, type Operator, recordAct } from './administration.ts'
import { type ClientRecord, clientRecord } from './client-record.ts'
import { recordProvenance } from './credential-changes.ts'

/**
 * Puts on record that an administrator made sure, outside of this service, that the credentials of
 * another are held by the person they are for. Those who registered the other or gave them out no longer
 * count as able to act for it, unless they could act for the one who confirms, too.
 * @param credentialsVersion which credentials were looked at, so that nobody confirms others unseen
 * @throws `Problem` `not_found`; `validation_failed` with everything that stands against it.
 */
export const confirmClient = (
  administration: Administration,
  operator: Operator,
  clientId: string,
  credentialsVersion: number,
  request: RepeatableRequest | null,
): Promise<Answer<ClientRecord>> =>
  once(administration, request, async (connection) => {
    // Nobody changes credentials meanwhile.
    await holdInstallation(connection)
    const before = await findAdministeredClient(connection, clientId)
    if (!before) throw new Problem('not_found')
    const faults = [
      ...clientFaults(before, credentialsVersion),
      ...(await confirmerFaults(connection, operator, before)),
    ]
    if (faults.length > 0) throw validationFailed(...faults)
    await recordProvenance(connection, operator.clientId, clientId, 'confirmed')
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

function clientFaults(
  { active, credentialsVersion, formerCredentialsUntil, kind }: AdministeredClient,
  seenVersion: number,
): readonly ProblemError[] {
  const until = formerCredentialsUntil?.toISOString()
  const version = { pointer: '/credentialsVersion', detail: `is ${credentialsVersion} by now` }
  const former = {
    pointer: '',
    detail: `must wait for tokens of other credentials, until ${until}`,
  }
  return [
    ...(kind === 'admin' ? [] : [{ pointer: '', detail: 'is for administrators' }]),
    ...(active ? [] : [{ pointer: '', detail: 'is not for a client that is disabled' }]),
    ...(seenVersion === credentialsVersion ? [] : [version]),
    ...(until === undefined ? [] : [former]),
  ]
}

/** Only who had no hand in a client can vouch for it, and only against those behind it who are not behind them. */
async function confirmerFaults(
  connection: Connection,
  operator: Operator,
  client: AdministeredClient,
): Promise<readonly ProblemError[]> {
  const confirmer = await findAdministeredClient(connection, operator.clientId)
  if (!confirmer?.active) return [{ pointer: '', detail: 'is not by a client that is disabled' }]
  const behindClient = controllersOf(client.clientId, client.provenance)
  const behindConfirmer = controllersOf(confirmer.clientId, confirmer.provenance)
  if (behindClient.length === 1) {
    return [{ pointer: '', detail: 'is not needed: nobody else could act for this client' }]
  }
  if (behindClient.includes(confirmer.clientId)) {
    const detail = 'must be by an administrator who had no hand in this client or in who had one'
    return [{ pointer: '', detail }]
  }
  const left = behindClient.filter((id) => id === client.clientId || behindConfirmer.includes(id))
  if (left.length < behindClient.length) return []
  const both = left.filter((id) => id !== client.clientId)
  return [{ pointer: '', detail: `changes nothing: ${both.join(', ')} could act for both of you` }]
}
