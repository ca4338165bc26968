import { type Connection, firstRow, type SqlScalar } from '../engine/database.ts'
import { loadStatements } from '../engine/statements.ts'

/** What a transaction is known by to a reversal: a hash of its network's own numbers and the PAN's fingerprint. */
interface TransactionReference {
  readonly networkId: string
  readonly transactionHash: Uint8Array
}

/** What a reversal may name of its original (ISO 8583:1987, field 90). An empty text is not known. */
export interface OriginalElements {
  /** `1` of authorizations, `2` of financial messages. */
  readonly messageClass: string
  readonly trace: string
  readonly transmittedAt: string
  readonly acquirer: string
}

/** A transaction that a network begins with a question, as its reversal may name it. */
export interface NewOriginal extends OriginalElements {
  /** One for each version of the key of the PAN's fingerprint. */
  readonly transactionHashes: readonly Uint8Array[]
}

/** The types of what `originalOf` takes. */
export const originalTypes = ['text', 'text', 'text', 'text', 'text'] as const

/** What `originalOf` takes: all hashes are one text. */
export const originalValues = ({
  acquirer,
  messageClass,
  trace,
  transactionHashes,
  transmittedAt,
}: NewOriginal): SqlScalar[] => [
  transactionHashes.map((hash) => Buffer.from(hash).toString('hex')).join(','),
  messageClass,
  trace,
  transmittedAt,
  acquirer,
]

/** What a day has passed over counts no more, and its row is taken. */
const isOver = `excluded.created_at - network_transaction.created_at > interval '24 hours'`

/**
 * The original of a question, as parts of the statement that claims the question's key: `original` is its rows, and
 * `unreversed` those of the source whose original no reversal has overtaken. Of an original and a reversal that come
 * at once one waits for the other, on the row.
 * @param first number of the first of the original's five values.
 * @param source names a part that has a row for each who asks.
 * @param network is written so.
 */
export const originalOf = (first: number, source: string, network: string): string => {
  const [hashes, messageClass, trace, transmittedAt, acquirer] = originalTypes.map(
    (type, at) => `$${first + at}::${type}`,
  )
  const listed = `string_to_array(${hashes}, ',')`
  return `original as (
      insert into network_transaction (network_id, transaction_hash, message_class, trace, transmitted_at, acquirer)
      select ${network}, decode(hash, 'hex'), ${messageClass}, ${trace}, ${transmittedAt}, ${acquirer}
      from ${source} cross join unnest(${listed}) as hash
      order by hash
      on conflict (transaction_hash, network_id) do update set message_class = excluded.message_class,
        trace = excluded.trace, transmitted_at = excluded.transmitted_at, acquirer = excluded.acquirer,
        reversed_at = case when ${isOver} then null else network_transaction.reversed_at end,
        created_at = case when ${isOver} then excluded.created_at else network_transaction.created_at end
        where network_transaction.message_class is not null or ${isOver}
      returning encode(transaction_hash, 'hex') as hash
    ), unreversed as materialized (
      select * from ${source}
      where (select count(*) from original where hash = any(${listed})) = cardinality(${listed})
    )`
}

const declare = loadStatements(import.meta.url)

const selectMark = declare<TransactionReference>('find_mark_of_reversal')

/** Whether a reversal of a transaction came before it, in the last 24 hours. */
export async function hasReversalMark(
  connection: Connection,
  networkId: string,
  transactionHashes: readonly Uint8Array[],
): Promise<boolean> {
  for (const transactionHash of transactionHashes) {
    const rows = await selectMark(connection, { networkId, transactionHash })
    if (rows.length > 0) return true
  }
  return false
}

const updateNamed = declare<OriginalElements & { networkId: string }>(
  'reverse_by_original_elements',
)

/** Marks the original as reversed that these elements name. @returns whether there is one. */
export const reverseByElements = async (
  connection: Connection,
  networkId: string,
  elements: OriginalElements,
): Promise<boolean> => (await updateNamed(connection, { ...elements, networkId })).length > 0

const upsertReversal = declare<TransactionReference, { isMatched: boolean }>(
  'reverse_network_transaction',
)

/**
 * Marks an original as reversed, or leaves the mark behind that it will find.
 * @returns whether the original was there.
 */
export const reverseTransaction = async (
  connection: Connection,
  transaction: TransactionReference,
): Promise<boolean> => firstRow(await upsertReversal(connection, transaction))?.isMatched ?? false

const deleteTransactions = declare<{ limit: number }>('prune_network_transactions')

/** Forgets some of the transactions older than 24 hours. @returns how many. */
export const pruneTransactions = async (connection: Connection, limit: number): Promise<number> =>
  (await deleteTransactions(connection, { limit })).length
