import type { ProvenanceAct } from '../../domain/client.ts'
import type { Connection } from '../engine/database.ts'
import { loadStatements } from '../engine/statements.ts'

/** An act on a client's registration or credentials. */
interface ProvenanceRow extends ProvenanceAct {
  readonly clientId: string
}

const declare = loadStatements(import.meta.url)

const selectProvenance = declare<{ clientIds: readonly string[] }, ProvenanceRow>(
  'list_client_provenance',
)

/** Lists the provenance of clients. */
export const listProvenance = (
  connection: Connection,
  clientIds: readonly string[],
): Promise<ProvenanceRow[]> => selectProvenance(connection, { clientIds })

const selectControlled = declare<{ controllers: readonly string[] }, ProvenanceRow>(
  'list_controlled_provenance',
)

/**
 * Lists the provenance of each client that one of these people, or a client of theirs, registered
 * or enabled.
 */
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

/** Raises the credentials version of a client. */
export const countCredentials = async (connection: Connection, clientId: string): Promise<void> => {
  await updateCredentials(connection, { clientId })
}

const deleteConfirmations = declare<{ clientId: string }>('void_client_confirmations')

/** Invalidates all confirmations of a client. */
export const voidConfirmations = async (
  connection: Connection,
  clientId: string,
): Promise<void> => {
  await deleteConfirmations(connection, { clientId })
}
