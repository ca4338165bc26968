import type { Connection } from '../engine/database.ts'
import { loadStatements } from '../engine/statements.ts'

const declare = loadStatements(import.meta.url)

/** The end of a page of entries, newest first. `at`: when it was entered, RFC 3339. */
export interface OperatorEntryPosition {
  readonly at: string
  readonly log: number
  readonly index: number
}

/** Selects entries of operators, by a card, or by a person and an act. */
export interface OperatorEntryFilter {
  readonly publicToken?: string | undefined
  readonly clientId?: string | undefined
  readonly act?: string | undefined
  /** RFC 3339; null: from the first entry. */
  readonly from: string | null
}

/** An entry of an operator. Its text is null after its erasure. */
interface OperatorEntryRow {
  readonly log: number
  readonly index: number
  readonly entryId: string
  readonly clientId: string | null
  readonly publicToken: string | null
  readonly act: string
  readonly enteredAt: string
  readonly text: string | null
}

interface EntryPage extends OperatorEntryPosition {
  readonly from: string
  readonly limit: number
}

const selectAll = declare<EntryPage, OperatorEntryRow>('list_operator_entries')
const selectOfClient = declare<EntryPage & { clientId: string }, OperatorEntryRow>(
  'list_operator_entries_of_client',
)
const selectOfAct = declare<EntryPage & { act: string }, OperatorEntryRow>(
  'list_operator_entries_of_act',
)
const selectOfClientAndAct = declare<
  EntryPage & { clientId: string; act: string },
  OperatorEntryRow
>('list_operator_entries_of_client_and_act')
const selectOfCard = declare<EntryPage & { publicToken: string }, OperatorEntryRow>(
  'list_operator_entries_of_card',
)

/** Lists entries of operators before a position, newest first. */
export function listOperatorEntryRows(
  connection: Connection,
  { act, clientId, from, publicToken }: OperatorEntryFilter,
  before: OperatorEntryPosition,
  limit: number,
): Promise<OperatorEntryRow[]> {
  const page = { ...before, from: from ?? '-infinity', limit }
  if (publicToken !== undefined) return selectOfCard(connection, { ...page, publicToken })
  if (clientId !== undefined && act !== undefined) {
    return selectOfClientAndAct(connection, { ...page, clientId, act })
  }
  if (clientId !== undefined) return selectOfClient(connection, { ...page, clientId })
  if (act !== undefined) return selectOfAct(connection, { ...page, act })
  return selectAll(connection, page)
}
