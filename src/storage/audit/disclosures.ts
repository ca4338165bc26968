import { type Connection, firstRow, statement } from '../engine/database.ts'

/** Where a page of disclosures ends, newest first. */
export interface DisclosurePosition {
  readonly log: number
  readonly index: number
}

/** An entry that says who was shown what. Once it is erased its text is null. */
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

// The condition stands as in the index of each: no other plan is bounded. Erased entries name no card and no client.
const listStatement = (name: string, of: string) =>
  statement(
    name,
    `select log, entry_index::float8 as "index", entry_id as "entryId", client_id as "clientId",
       public_token as "publicToken", act, entered_at as "enteredAt", text,
       entry_index < coalesce((
         select size from audit_checkpoint where audit_checkpoint.log = entry.log
         order by size desc limit 1
       ), 0) as "isSigned"
     from audit_entry as entry
     where act in ('pin.revealed', 'card_data.revealed', 'cardholder.revealed') ${of}
       and (log, entry_index) < ($1::integer, $2::bigint)
     order by log desc, entry_index desc limit $3`,
  )
const ofAllStatement = listStatement('list_disclosures', '')
const ofCardStatement = listStatement('list_disclosures_of_card', 'and public_token = $4')
const ofClientStatement = listStatement('list_disclosures_of_client', 'and client_id = $4')

// The condition stands as in the index of a card's disclosures.
const shownStatement = statement(
  'was_shown_card',
  `select exists (
     select 1 from audit_entry
     where act in ('pin.revealed', 'card_data.revealed', 'cardholder.revealed')
       and public_token = $1 and client_id = $2
   ) as "isThere"`,
)

/** Whether the log has a disclosure of a card to somebody. */
export const wasShownCard = async (
  connection: Connection,
  publicToken: string,
  clientId: string,
): Promise<boolean> => {
  const values = [publicToken, clientId]
  return (
    firstRow(await connection.query<{ isThere: boolean }>(shownStatement, values))?.isThere ?? false
  )
}

const newest: DisclosurePosition = { log: 2_147_483_647, index: 0 }

/** Whose disclosures are asked for: one of the two, or everybody's. */
export interface DisclosureFilter {
  readonly publicToken?: string | undefined
  readonly clientId?: string | undefined
  readonly after: DisclosurePosition | null
  readonly limit: number
}

/** Disclosures that are entered, newest first. */
export const findDisclosures = (
  connection: Connection,
  { after, clientId, limit, publicToken }: DisclosureFilter,
): Promise<DisclosureRow[]> => {
  const { index, log } = after ?? newest
  const page = [log, index, limit]
  if (publicToken !== undefined) return connection.query(ofCardStatement, [...page, publicToken])
  if (clientId !== undefined) return connection.query(ofClientStatement, [...page, clientId])
  return connection.query(ofAllStatement, page)
}
