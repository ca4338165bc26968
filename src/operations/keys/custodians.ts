import { describeOrigin, listControllers } from '../../domain/client.ts'
import { isPersonId } from '../../domain/person.ts'
import { findClient } from '../../storage/clients/clients.ts'
import { listProvenance } from '../../storage/clients/provenance.ts'
import type { Connection } from '../../storage/engine/database.ts'
import { isSandboxInstallation, type KeyComponentRow } from '../../storage/keys/components.ts'

/** A client that enters a component, its provenance, and everyone who could act as it now. */
export interface Custodian {
  readonly clientId: string
  readonly createdBy: string | null
  readonly confirmedBy: readonly string[]
  readonly controlledBy: readonly string[]
}

/**
 * Loads the custodians of components. The caller has locked the installation, or only displays the
 * result.
 */
export async function loadCustodians(
  connection: Connection,
  clientIds: readonly string[],
): Promise<(clientId: string) => Custodian> {
  const provenance = await listProvenance(connection, clientIds)
  return (clientId) => {
    const own = provenance.filter((hand) => hand.clientId === clientId)
    return { clientId, ...describeOrigin(own), controlledBy: listControllers(clientId, own) }
  }
}

/** A person who enters a component: the id, and the client. */
interface Person {
  readonly person: string
  readonly clientId: string
}

/**
 * Returns why a custodian is not independent of those who entered components before, or null. No
 * administrator may be able to act for two of them, neither when they entered their components nor
 * now.
 */
export async function findDependence(
  connection: Connection,
  { clientId, person }: Person,
  entered: readonly KeyComponentRow[],
): Promise<string | null> {
  const isSandbox = await isSandboxInstallation(connection)
  // In the sandbox, which has one person, one client may stand for several custodians.
  const others = entered.filter((each) => !isSandbox || each.clientId !== clientId)
  if (
    entered.some((each) => each.person === person) ||
    others.some((each) => each.clientId === clientId)
  ) {
    return 'Another person must enter each component, with a client of their own.'
  }
  // The client of a person who signed in is unknown.
  if (others.some((each) => isPersonId(each.clientId) !== isPersonId(clientId))) {
    return 'The custodians of a key must either all sign in, or all be clients.'
  }
  for (const id of [clientId, ...others.map((each) => each.clientId)]) {
    // The issuer decides whether a person may still sign in.
    if (!isPersonId(id) && !(await findClient(connection, id))?.active) return `${id} is disabled.`
  }
  const findCustodian = await loadCustodians(connection, [
    clientId,
    ...others.map((e) => e.clientId),
  ])
  for (const other of others) {
    const behind = [...other.controlledBy, ...findCustodian(other.clientId).controlledBy]
    const both = findCustodian(clientId).controlledBy.filter((id) => behind.includes(id))
    if (both.length > 0) {
      return (
        `${both.join(', ')} could act as both ${other.clientId} and ${clientId}. An ` +
        'independent administrator must confirm one of them first.'
      )
    }
  }
  return null
}
