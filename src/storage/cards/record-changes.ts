import type { PublicToken } from '../../domain/identifiers.ts'
import type { RenewalType } from '../../domain/product.ts'
import { type Connection, firstRow, isUndone } from '../engine/database.ts'
import { loadStatements } from '../engine/statements.ts'
import { type CardAct, type CardActValues, cardActParameters } from './card-act.ts'

const declare = loadStatements(import.meta.url)

/** The new values of a card's record. Those of members that are not named are ignored. */
export interface RecordValues {
  /** The names of the changed members. */
  readonly members: readonly string[]
  readonly customerReference: string | null
  readonly designId: string | null
  readonly renewalType: RenewalType | null
  /** The sealed personal data that is replaced; null if it is not changed. */
  readonly formerPersonalData: Uint8Array | null
  readonly personalData: Uint8Array | null
  /** JSON: a text sets a key, and null removes it. Null if none is changed. */
  readonly metadata: string | null
}

const change = declare<CardActValues & RecordValues, { readonly isDone: boolean }>(
  'change_card_record',
)

/**
 * Changes the record of a card.
 * @returns whether it was done: not if its personal data was changed meanwhile, or if it would have
 *   too much metadata.
 */
export async function updateCardRecord(
  connection: Connection,
  act: CardAct,
  values: RecordValues,
): Promise<boolean> {
  try {
    const rows = await change(connection, { ...cardActParameters(act), ...values })
    return firstRow(rows)?.isDone ?? false
  } catch (error) {
    if (isUndone(error)) return false
    throw error
  }
}

const selectMetadata = declare<
  { publicToken: PublicToken },
  { readonly key: string; readonly value: string }
>('list_metadata')

/** Returns the metadata of a card by key. */
export const findMetadata = async (
  connection: Connection,
  publicToken: PublicToken,
): Promise<ReadonlyMap<string, string>> => {
  const rows = await selectMetadata(connection, { publicToken })
  return new Map(rows.map(({ key, value }) => [key, value]))
}
