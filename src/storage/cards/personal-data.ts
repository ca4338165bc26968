import type { PublicToken } from '../../domain/identifiers.ts'
import { type Connection, firstRow } from '../engine/database.ts'
import { loadStatements } from '../engine/statements.ts'

const declare = loadStatements(import.meta.url)

const selectPersonalData = declare<{ publicToken: PublicToken }, { personalData: Uint8Array }>(
  'find_personal_data',
)

/** Returns the sealed personal data of a card, or null. */
export const findPersonalData = async (
  connection: Connection,
  publicToken: PublicToken,
): Promise<Uint8Array | null> =>
  firstRow(await selectPersonalData(connection, { publicToken }))?.personalData ?? null
