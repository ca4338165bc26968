import type { ProvenanceAct } from '../../domain/client.ts'
import type { Connection } from '../engine/database.ts'
import { loadStatements } from '../engine/statements.ts'

/** What somebody did to which client. */
interface ProvenanceRow extends ProvenanceAct {
  readonly clientId: string
}

const declare = loadStatements(import.meta.url)

const selectProvenance = declare<{ clientIds: readonly string[] }, ProvenanceRow>(
  'list_client_provenance',
)

/** Who had a hand in each of these clients. */
export const listProvenance = (
  connection: Connection,
  clientIds: readonly string[],
): Promise<ProvenanceRow[]> => selectProvenance(connection, { clientIds })

const selectControlled = declare<{ controllers: readonly string[] }, ProvenanceRow>(
  'list_controlled_provenance',
)

/** Who had a hand in each client in which one of these, or a client of theirs, had one. */
export const listControlledProvenance = (
  connection: Connection,
  controllers: readonly string[],
): Promise<ProvenanceRow[]> => selectControlled(connection, { controllers })

const insert = declare<ProvenanceRow>('insert_client_provenance')

/** Records that a person took part in an act on a client. */
export const insertProvenance = async (
  connection: Connection,
  row: ProvenanceRow,
): Promise<void> => {
  await insert(connection, row)
}

const updateCredentials = declare<{ clientId: string }>('count_credentials')

/** Counts that a client got other credentials, whoever gave them. */
export const countCredentials = async (connection: Connection, clientId: string): Promise<void> => {
  await updateCredentials(connection, { clientId })
}

const deleteConfirmations = declare<{ clientId: string }>('void_client_confirmations')

/** Lets no confirmation of a client count any more. */
export const voidConfirmations = async (
  connection: Connection,
  clientId: string,
): Promise<void> => {
  await deleteConfirmations(connection, { clientId })
}
