import { listParties } from '../../domain/client.ts'
import { derivePersonId, isPersonId } from '../../domain/person.ts'
import { Problem } from '../../domain/problem.ts'
import type { ApprovalRow } from '../../storage/approvals/approvals.ts'
import { listProvenance } from '../../storage/clients/provenance.ts'
import type { Connection } from '../../storage/engine/database.ts'
import { type ApprovalContext, type Party, parseRequester } from './approvals.ts'

type Rules = Pick<ApprovalContext, 'takesFirstAdministrators'>

/**
 * Lists everyone who cannot approve the requests of a party now: for a person, only that person;
 * for a client, its controllers and the people who approved its credentials.
 * @throws `Problem` `same_person` if the record does not state which person holds the client's
 *   credentials.
 */
export async function listRequesterParties(
  { takesFirstAdministrators }: Rules,
  connection: Connection,
  { clientId, person }: Pick<Party, 'clientId' | 'person'>,
): Promise<readonly string[]> {
  if (person) return [clientId]
  const provenance = await listProvenance(connection, [clientId])
  const parties = listParties(clientId, provenance)
  if (takesFirstAdministrators) return parties
  const isGivenByPerson = provenance.some(
    ({ act, controlledBy }) =>
      (act === 'created' || act === 'credentials_set') && controlledBy.some(isPersonId),
  )
  if (isGivenByPerson && (await areRegistered(connection, parties))) return parties
  throw new Problem('same_person', {
    detail:
      'The record does not say which person holds the credentials of this client: the ' +
      'configuration named it, or named a client that could act for it. Make the request as a ' +
      'person who signed in, or as a client that such a person registered.',
  })
}

/**
 * Whether every one of these clients was registered here. The holder of any other client may be any
 * person.
 */
async function areRegistered(connection: Connection, parties: readonly string[]): Promise<boolean> {
  const clientIds = parties.filter((id) => !isPersonId(id))
  const created = (await listProvenance(connection, clientIds)).filter(
    ({ act }) => act === 'created',
  )
  return clientIds.every((id) => created.some(({ clientId }) => clientId === id))
}

/**
 * Rejects an approver who is the requester, or who could act as the requester at the time of the
 * request or can now.
 * @throws `Problem` `same_person`.
 */
export async function requireAnotherPerson(
  rules: Rules,
  connection: Connection,
  { clientId, person }: Pick<Party, 'clientId' | 'person'>,
  row: ApprovalRow,
): Promise<void> {
  if (isRequester({ clientId, person }, row)) throw new Problem('same_person')
  const requester = { clientId: row.requesterId, person: parseRequester(row) }
  const now = await listRequesterParties(rules, connection, requester)
  const parties = [...row.requesterParties, ...now]
  const isParty = parties.includes(clientId) || (person && parties.includes(derivePersonId(person)))
  if (!isParty) return
  throw new Problem('same_person', {
    detail:
      'You registered the client that made this request, or issued or approved its credentials.',
  })
}

/** Whether a party made a request. Issuer and subject identify a person. */
export function isRequester(
  { clientId, person }: Pick<Party, 'clientId' | 'person'>,
  row: ApprovalRow,
): boolean {
  if (row.requesterId === clientId) return true
  const requester = parseRequester(row)
  if (!requester || !person) return false
  return requester.issuer === person.issuer && requester.subject === person.subject
}
