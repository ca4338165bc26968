import type { TryKind } from '../domain/tries.ts'
import {
  type HeldCounter,
  holdCounter,
  isAttemptPending,
  resolveAttempt,
  restoreOne,
  restoreUpTo,
  type SpentTry,
} from '../storage/attempts.ts'
import { tellBlock } from '../storage/blocks.ts'
import type { Connection } from '../storage/database.ts'
import { recordEvent } from '../storage/events.ts'
import type { CheckOutcome } from './authorization-schema.ts'
import type { Authorizing, Question } from './authorizing.ts'

/** What a comparison said. `unresolved`: the HSM gave no answer. */
export type Comparison = 'match' | 'mismatch' | 'unresolved'

/**
 * Settles a try that was spent: its result, what it gives back, and what is told of it commit
 * together (contract, section 10, rules 2, 3, 4 and 7).
 */
export const settle = (
  { database }: Authorizing,
  spent: SpentTry,
  comparison: Comparison,
  question: Question,
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
  { entryMode, reference, requestId }: Question,
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
export const tellLostBlock = (
  { database }: Pick<Authorizing, 'database'>,
  block: Pick<SpentTry, 'kind' | 'publicToken'>,
): Promise<void> =>
  database.transaction(async (connection) => {
    const { kind, publicToken } = block
    const { blockTold, epoch, remaining } = await holdCounter(connection, block)
    if (blockTold || remaining > 0) return
    if (await isAttemptPending(connection, publicToken, kind, epoch)) return
    await tellBlock(connection, blockEvent(publicToken, kind, null), kind)
  })
