import type { TryKind } from '../../domain/tries.ts'
import {
  type HeldCounter,
  holdCounter,
  isAttemptPending,
  listUntoldBlocks,
  resolveAttempt,
  restoreOne,
  restoreUpTo,
  type SpentTry,
  tellBlock,
  type UntoldBlock,
} from '../../storage/cards/tries.ts'
import type { Connection } from '../../storage/engine/database.ts'
import { recordEvent } from '../../storage/events/events.ts'
import type {
  AuthorizationOperations,
  AuthorizationRequest,
  CheckOutcome,
} from './authorization.ts'

/** What a comparison said. `unresolved`: the HSM gave no answer. */
export type Comparison = 'match' | 'mismatch' | 'unresolved'

/**
 * Settles a try that was spent: its result, what it gives back, and what is told of it commit
 * together (docs/authorizations.md, "Tries", rules 2, 3, 4 and 7).
 */
export const settle = (
  { database }: AuthorizationOperations,
  spent: SpentTry,
  comparison: Comparison,
  question: AuthorizationRequest,
): Promise<CheckOutcome> =>
  database.transaction(async (connection) => {
    const counter = await holdCounter(connection, spent)
    const remaining = await giveBack(connection, spent, counter, comparison)
    await resolveAttempt(connection, spent, comparison, remaining)
    if (comparison === 'mismatch') {
      await tellFailure(connection, spent, remaining, question)
      if (!isOver(spent, counter)) {
        await tellIfBlocked(connection, spent, remaining, question.requestId)
      }
    }
    return { result: comparison, remainingTries: remaining }
  })

/**
 * Whether a try may change nothing any more: its epoch has ended, or it was taken for lost and the
 * block that it left was told. Its comparison may still come, from a process that stood still.
 */
const isOver = (spent: SpentTry, { blockTold, epoch }: HeldCounter): boolean =>
  spent.epoch !== epoch || blockTold

/** @returns the tries that remain. A try that is over gives nothing back. */
async function giveBack(
  connection: Connection,
  spent: SpentTry,
  counter: HeldCounter,
  comparison: Comparison,
): Promise<number> {
  if (comparison === 'mismatch' || isOver(spent, counter)) return counter.remaining
  return comparison === 'match' ? restoreUpTo(connection, spent) : restoreOne(connection, spent)
}

const tellFailure = (
  connection: Connection,
  { kind, publicToken }: SpentTry,
  remainingTries: number,
  { entryMode, reference, requestId }: AuthorizationRequest,
): Promise<void> =>
  recordEvent(connection, {
    publicToken,
    type: `${kind}.attempt_failed`,
    requestId,
    details: { remainingTries, entryMode, reference },
    note: null,
  })

/** Not while another try of this epoch may still match and give them all back. */
async function tellIfBlocked(
  connection: Connection,
  { epoch, kind, publicToken }: SpentTry,
  remaining: number,
  requestId: string,
): Promise<void> {
  if (remaining > 0 || (await isAttemptPending(connection, publicToken, kind, epoch))) return
  await tellBlock(connection, blockEvent(publicToken, kind, requestId), kind)
}

const blockEvent = (publicToken: string, kind: TryKind, requestId: string | null) =>
  ({
    publicToken,
    type: `${kind}.blocked`,
    requestId,
    details: { blockedBy: 'tries' },
    note: null,
  }) as const

/** Tells of a block that a lost process did not live to tell, unless it has been told by now. */
const tellLostBlock = (
  { database }: Pick<AuthorizationOperations, 'database'>,
  block: Pick<SpentTry, 'kind' | 'publicToken'>,
): Promise<void> =>
  database.transaction(async (connection) => {
    const { kind, publicToken } = block
    const { blockTold, epoch, remaining } = await holdCounter(connection, block)
    if (blockTold || remaining > 0) return
    if (await isAttemptPending(connection, publicToken, kind, epoch)) return
    await tellBlock(connection, blockEvent(publicToken, kind, null), kind)
  })

const stepSize = 100

/**
 * Writes the events of blocks whose process was lost before it could; any number may do so at once.
 * @param stop ends it between two blocks.
 * @throws AggregateError of those that could not be written, after all the others are.
 */
export async function recordLostBlocks(
  authorizing: Pick<AuthorizationOperations, 'database'>,
  stop: AbortSignal = new AbortController().signal,
): Promise<void> {
  const faults: unknown[] = []
  let after: UntoldBlock | null = null
  do {
    const blocks: UntoldBlock[] = await listUntoldBlocks(authorizing.database, after, stepSize)
    for (const block of blocks) {
      if (stop.aborted) break
      await tellLostBlock(authorizing, block).catch((error: unknown) => faults.push(error))
    }
    // Full ones alone: what comes in meanwhile is for the next turn.
    after = blocks.length === stepSize ? (blocks.at(-1) ?? null) : null
  } while (after && !stop.aborted)
  if (faults.length > 0) {
    throw new AggregateError(faults, 'Some blocks could not be told.', { cause: faults[0] })
  }
}
