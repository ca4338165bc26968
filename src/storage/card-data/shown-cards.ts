import { type Connection, firstRow } from '../engine/database.ts'
import { loadStatements } from '../engine/statements.ts'

const declare = loadStatements(import.meta.url)

/** The end of a page of disclosures, newest first. */
export interface DisclosurePosition {
  readonly log: number
  readonly index: number
}

/** An entry about a disclosure. Its text is null after its erasure. */
interface DisclosureRow extends DisclosurePosition {
  readonly entryId: string
  readonly clientId: string | null
  readonly publicToken: string | null
  readonly act: string
  readonly enteredAt: Date
  readonly text: string | null
  /** Whether the newest checkpoint of its log covers it. */
  readonly isSigned: boolean
}

const selectShown = declare<
  { publicToken: string; clientIds: readonly string[] },
  { isThere: boolean }
>('was_shown_card')

/** Whether the log has a disclosure of a card to one of these clients. */
export const wasShownCard = async (
  connection: Connection,
  publicToken: string,
  clientIds: readonly string[],
): Promise<boolean> =>
  firstRow(await selectShown(connection, { publicToken, clientIds }))?.isThere ?? false

const newest: DisclosurePosition = { log: 2_147_483_647, index: 0 }

/** Selects disclosures by client, by card, or all. */
export interface DisclosureFilter {
  readonly publicToken?: string | undefined
  readonly clientId?: string | undefined
  readonly after: DisclosurePosition | null
  readonly limit: number
}

interface Page extends DisclosurePosition {
  readonly limit: number
}

const selectDisclosures = declare<Page, DisclosureRow>('list_disclosures')
const selectByCard = declare<Page & { publicToken: string }, DisclosureRow>(
  'list_disclosures_of_card',
)
const selectByClient = declare<Page & { clientId: string }, DisclosureRow>(
  'list_disclosures_of_client',
)

/** Lists entered disclosures, newest first. */
export const listDisclosureRows = (
  connection: Connection,
  { after, clientId, limit, publicToken }: DisclosureFilter,
): Promise<DisclosureRow[]> => {
  const page = { ...(after ?? newest), limit }
  if (publicToken !== undefined) return selectByCard(connection, { ...page, publicToken })
  if (clientId !== undefined) return selectByClient(connection, { ...page, clientId })
  return selectDisclosures(connection, page)
}
