import { listControllers, listParties } from '../../domain/client.ts'
import { listControlledProvenance, listProvenance } from '../../storage/clients/provenance.ts'
import type { Connection } from '../../storage/engine/database.ts'

/**
 * Lists everyone whose traces an erasure leaves in place: the requester and the approver, the
 * people who registered them, issued or approved their credentials, and every client that one of
 * these people could act as alone.
 * @param people the requester and the approver; null for a missing one.
 */
export async function listErasureParties(
  connection: Connection,
  people: readonly (string | null)[],
): Promise<readonly string[]> {
  const named = people.filter((id) => id !== null)
  if (named.length === 0) return []
  const ownProvenance = await listProvenance(connection, named)
  const controllers = named.flatMap((id) =>
    listParties(
      id,
      ownProvenance.filter(({ clientId }) => clientId === id),
    ),
  )
  const provenance = await listControlledProvenance(connection, controllers)
  const controlled = [...Map.groupBy(provenance, ({ clientId }) => clientId)]
    .filter(([id, hands]) => listControllers(id, hands).some((by) => controllers.includes(by)))
    .map(([id]) => id)
  return [...new Set([...controllers, ...controlled])].sort()
}
