import { isPersonId } from '../../domain/person.ts'
import type { Connection } from '../engine/database.ts'
import { loadStatements } from '../engine/statements.ts'

const declare = loadStatements(import.meta.url)

interface NameRow {
  readonly id: string
  readonly name: string
}

const selectPeople = declare<{ ids: readonly string[] }, NameRow>('list_names_of_people')
const selectClients = declare<{ ids: readonly string[] }, NameRow>('list_names_of_clients')

/** Lists the names of people and clients, by id. A client that was deleted has none. */
export async function listActorNames(
  connection: Connection,
  actors: readonly (string | null)[],
): Promise<ReadonlyMap<string, string>> {
  const ids = [...new Set(actors.filter((id) => id !== null))]
  const people = ids.filter(isPersonId)
  const clients = ids.filter((id) => !isPersonId(id))
  const rows = await Promise.all([
    people.length > 0 ? selectPeople(connection, { ids: people }) : [],
    clients.length > 0 ? selectClients(connection, { ids: clients }) : [],
  ])
  return new Map(rows.flat().map(({ id, name }) => [id, name]))
}
