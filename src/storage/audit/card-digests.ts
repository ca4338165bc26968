import { type Connection, statement } from '../engine/database.ts'
import { digestedCardColumns, digestOf } from './digested-columns.ts'

/** What entries say of a card: its sequences, and of which types their acts are. */
export interface CardEntries {
  readonly publicToken: string
  readonly sequences: readonly number[]
  readonly acts: readonly string[]
}

const entriesStatement = statement(
  'list_card_entries',
  `select public_token as "publicToken", array_agg(sequence order by sequence) as "sequences",
     array_agg(act order by sequence) as "acts"
   from (
     select public_token, act, (text::json ->> 'sequence')::integer as sequence from audit_entry
     where log = $1 and entry_index >= $2::bigint and entry_index < $3::bigint
       and public_token is not null and text is not null
   ) as entered
   where sequence is not null
   group by public_token order by public_token`,
)

/** The cards that entries from one index to before another are about. */
export const listCardEntries = (
  connection: Connection,
  log: number,
  [from, end]: readonly [number, number],
): Promise<CardEntries[]> => connection.query(entriesStatement, [log, from, end])

/** What is known of a card by its entries, and how it was found last. */
export interface CardDigestRow {
  readonly publicToken: string
  readonly enteredSequence: number
  /** In the order of the groups of columns. */
  readonly changedAt: readonly number[]
  readonly digests: readonly Uint8Array[]
  readonly digestedSequence: number
  readonly awaitedSequence: number | null
}

const columns = `public_token as "publicToken", entered_sequence as "enteredSequence", changed_at as "changedAt",
  digests, digested_sequence as "digestedSequence", awaited_sequence as "awaitedSequence"`

const findStatement = statement(
  'find_card_digests',
  `select ${columns} from card_digest where public_token = any($1::text[])`,
)

export const findCardDigests = (
  connection: Connection,
  publicTokens: readonly string[],
): Promise<CardDigestRow[]> => connection.query(findStatement, [publicTokens])

const rangeStatement = statement(
  'list_card_digests',
  `select ${columns} from card_digest
   where public_token > $1 and ($2::text is null or public_token <= $2)
   order by public_token limit $3`,
)

/** Those after a token, up to another one, in their order. */
export const listCardDigests = (
  connection: Connection,
  after: string,
  upTo: string | null,
  limit: number,
): Promise<CardDigestRow[]> => connection.query(rangeStatement, [after, upTo, limit])

const awaitedStatement = statement(
  'list_awaited_cards',
  `select ${columns} from card_digest where awaited_sequence is not null order by public_token limit $1`,
)

/** Cards of which an event was missing when they were checked. */
export const listAwaitedCards = (connection: Connection, limit: number): Promise<CardDigestRow[]> =>
  connection.query(awaitedStatement, [limit])

// Lists of lists are sent as JSON: a list of them would have to be a table.
const writeStatement = statement(
  'write_card_digests',
  `insert into card_digest (public_token, entered_sequence, changed_at, digests, digested_sequence, awaited_sequence)
   select public_token, entered_sequence,
     array(select value::integer from json_array_elements_text(changed_at::json)),
     array(select decode(value, 'hex') from json_array_elements_text(digests::json)),
     digested_sequence, awaited_sequence
   from unnest($1::text[], $2::integer[], $3::text[], $4::text[], $5::integer[], $6::integer[])
     as given (public_token, entered_sequence, changed_at, digests, digested_sequence, awaited_sequence)
   on conflict (public_token) do update set entered_sequence = excluded.entered_sequence,
     changed_at = excluded.changed_at, digests = excluded.digests,
     digested_sequence = excluded.digested_sequence, awaited_sequence = excluded.awaited_sequence`,
)

/** Writes rows anew, whole. */
export async function writeCardDigests(
  connection: Connection,
  rows: readonly CardDigestRow[],
): Promise<void> {
  if (rows.length === 0) return
  await connection.query(writeStatement, [
    rows.map(({ publicToken }) => publicToken),
    rows.map(({ enteredSequence }) => enteredSequence),
    rows.map(({ changedAt }) => JSON.stringify(changedAt)),
    rows.map(({ digests }) =>
      JSON.stringify(digests.map((each) => Buffer.from(each).toString('hex'))),
    ),
    rows.map(({ digestedSequence }) => digestedSequence),
    rows.map(({ awaitedSequence }) => awaitedSequence),
  ])
}

const removeStatement = statement(
  'remove_card_digests',
  'delete from card_digest where public_token = any($1::text[])',
)

export const removeCardDigests = async (
  connection: Connection,
  publicTokens: readonly string[],
): Promise<void> => {
  await connection.query(removeStatement, [publicTokens])
}

/** A card as it is, by a digest of each group of its columns. */
export interface DigestedCard {
  readonly publicToken: string
  readonly lastSequence: number
  readonly digests: readonly Uint8Array[]
}

const cardsStatement = statement(
  'list_digested_cards',
  `select card.public_token as "publicToken", card.last_sequence as "lastSequence",
     array[${digestedCardColumns.map(({ columns }) => digestOf(columns)).join(', ')}] as "digests"
   from card
   left join try_counter as pin on pin.public_token = card.public_token and pin.kind = 'pin'
   left join try_counter as cvv on cvv.public_token = card.public_token and cvv.kind = 'cvv'
   where card.public_token > $1 order by card.public_token limit $2`,
)

/** Cards after a token, in the order of their tokens. */
export const listDigestedCards = (
  connection: Connection,
  after: string,
  limit: number,
): Promise<DigestedCard[]> => connection.query(cardsStatement, [after, limit])
