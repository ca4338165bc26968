import type { PublicToken } from '../../domain/identifiers.ts'
import type { TryKind } from '../../domain/tries.ts'
import type { Connection } from '../engine/database.ts'
import { loadStatements } from '../engine/statements.ts'

/** An attempt in a list, without the tried value. */
export interface AttemptRow {
  readonly at: Date
  readonly kind: TryKind
  readonly result: 'match' | 'mismatch' | 'unresolved'
  readonly remainingTries: number
  readonly entryMode: string
  readonly reference: string
  readonly tryNumber: number
}

/** The end of a page of attempts: by kind, the next page has attempts of lower numbers. */
export type AttemptPosition = Readonly<Record<TryKind, number>>

/** The position before all attempts. */
export const newestAttempt: AttemptPosition = { pin: 2_147_483_647, cvv: 2_147_483_647 }

const declare = loadStatements(import.meta.url)

interface AttemptPage extends AttemptPosition {
  readonly publicToken: PublicToken
  readonly clientId: string
  readonly limit: number
}

const selectAttempts = declare<AttemptPage, AttemptRow>('list_attempts')

/**
 * Lists the attempts on a client's card, newest first.
 * @param page its limit is at most 101.
 */
export const listAttemptRows = (
  connection: Connection,
  publicToken: PublicToken,
  clientId: string,
  { after, limit }: { readonly after: AttemptPosition | null; readonly limit: number },
): Promise<AttemptRow[]> =>
  selectAttempts(connection, { ...(after ?? newestAttempt), publicToken, clientId, limit })

/** A card whose tries are used up without a recorded event. */
export interface UnreportedBlock {
  readonly publicToken: PublicToken
  readonly kind: TryKind
}

const selectBlocks = declare<
  { publicToken: PublicToken | null; kind: TryKind | null; limit: number },
  UnreportedBlock
>('list_unreported_blocks')

const beforeAllBlocks = { publicToken: null, kind: null }

/**
 * Lists some of the blocks that a lost process did not record, by card.
 * @param after null for the first page.
 */
export const listUnreportedBlocks = (
  connection: Connection,
  after: UnreportedBlock | null,
  limit: number,
): Promise<UnreportedBlock[]> => selectBlocks(connection, { ...(after ?? beforeAllBlocks), limit })

const insertLostBlock = declare<UnreportedBlock>('report_lost_block')

/**
 * Records that the tries of a card are used up, once in an epoch, unless one of them may still
 * match.
 */
export const reportLostBlock = async (
  connection: Connection,
  block: UnreportedBlock,
): Promise<void> => {
  await insertLostBlock(connection, block)
}
