import type { PublicToken } from '../../domain/identifiers.ts'
import { type Connection, firstRow } from '../engine/database.ts'
import { loadStatements } from '../engine/statements.ts'

/**
 * The identifier of a transaction for its reversal: a hash of the network's numbers and the PAN's
 * fingerprint.
 */
interface TransactionReference {
  readonly networkId: string
  readonly transactionHash: Uint8Array
}

/**
 * The elements by which a reversal can identify its original (ISO 8583:1987, field 90). An empty
 * text is unknown.
 */
export interface OriginalElements {
  /** `1` of authorizations, `2` of financial messages. */
  readonly messageClass: string
  readonly trace: string
  readonly transmittedAt: string
  readonly acquirer: string
}

/** A transaction that a network begins with a request, with the elements of its reversal. */
export interface NewOriginal extends OriginalElements {
  /** One for each version of the key of the PAN's fingerprint. */
  readonly transactionHashes: readonly Uint8Array[]
}

/** The transaction of a request as the parameters of a statement. */
export interface TransactionValues {
  /** In ascending order, so that two concurrent calls never deadlock; separated by commas. */
  readonly transactionHashes: string | null
  readonly messageClass: string | null
  readonly trace: string | null
  readonly transmittedAt: string | null
  readonly acquirer: string | null
}

/**
 * Converts the transaction of a request to parameters.
 * @param original null if the request begins none.
 */
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

/** A reversed original, and the id by which its payment is found. */
export interface ReversedOriginal {
  readonly networkTransactionId: string | null
}

const updateNamed = declare<OriginalElements & { networkId: string }, ReversedOriginal>(
  'reverse_by_original_elements',
)

/** Marks the original with these elements as reversed. Returns null if it does not exist. */
export const reverseByElements = async (
  connection: Connection,
  networkId: string,
  elements: OriginalElements,
): Promise<ReversedOriginal | null> =>
  firstRow(await updateNamed(connection, { ...elements, networkId }))

const upsertReversal = declare<
  TransactionReference,
  ReversedOriginal & { readonly isMatched: boolean }
>('reverse_network_transaction')

/**
 * Marks an original as reversed, or stores the mark for a later original.
 * @returns null if the original does not exist yet.
 */
export async function reverseTransaction(
  connection: Connection,
  transaction: TransactionReference,
): Promise<ReversedOriginal | null> {
  const reversed = firstRow(await upsertReversal(connection, transaction))
  return reversed?.isMatched ? reversed : null
}

interface NetworkTransaction {
  readonly networkId: string
  readonly networkTransactionId: string
}

const selectCard = declare<NetworkTransaction, { publicToken: PublicToken }>(
  'find_card_of_network_transaction',
)

/** Returns the card of a network's transaction, or null. */
export const findCardOfTransaction = async (
  connection: Connection,
  transaction: NetworkTransaction,
): Promise<PublicToken | null> =>
  firstRow(await selectCard(connection, transaction))?.publicToken ?? null

const deleteTransactions = declare<{ limit: number }>('prune_network_transactions')

/**
 * Deletes some of the transactions older than 24 hours.
 * @returns their number.
 */
export const expireTransactions = async (connection: Connection, limit: number): Promise<number> =>
  (await deleteTransactions(connection, { limit })).length
