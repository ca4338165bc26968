import { type Connection, firstRow } from '../engine/database.ts'
import { loadStatements } from '../engine/statements.ts'

/**
 * What a transaction is known by to a reversal: a hash of its network's own numbers and the PAN's
 * fingerprint.
 */
interface TransactionReference {
  readonly networkId: string
  readonly transactionHash: Uint8Array
}

/**
 * What a reversal may name of its original (ISO 8583:1987, field 90). An empty text is not known.
 */
export interface OriginalElements {
  /** `1` of authorizations, `2` of financial messages. */
  readonly messageClass: string
  readonly trace: string
  readonly transmittedAt: string
  readonly acquirer: string
}

/** A transaction that a network begins with a request, as its reversal may name it. */
export interface NewOriginal extends OriginalElements {
  /** One for each version of the key of the PAN's fingerprint. */
  readonly transactionHashes: readonly Uint8Array[]
}

/** The transaction that a request begins, as the statement of an act takes it. */
export interface TransactionValues {
  /**
   * In ascending order, so that two that race wait for each other and never both; separated by
   * commas.
   */
  readonly transactionHashes: string | null
  readonly messageClass: string | null
  readonly trace: string | null
  readonly transmittedAt: string | null
  readonly acquirer: string | null
}

/** The transaction of a request. @param original null where it begins none. */
export function transactionParameters(original: NewOriginal | null): TransactionValues {
  const hashes = original?.transactionHashes
    .toSorted(Buffer.compare)
    .map((hash) => `\\x${Buffer.from(hash).toString('hex')}`)
  return {
    transactionHashes: hashes?.join(',') ?? null,
    messageClass: original?.messageClass ?? null,
    trace: original?.trace ?? null,
    transmittedAt: original?.transmittedAt ?? null,
    acquirer: original?.acquirer ?? null,
  }
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
export const expireTransactions = async (connection: Connection, limit: number): Promise<number> =>
  (await deleteTransactions(connection, { limit })).length
