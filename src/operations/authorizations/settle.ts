import type { PublicToken } from '../../domain/identifiers.ts'
import type { TryKind } from '../../domain/tries.ts'
import * as storedTries from '../../storage/cards/tries.ts'
import { recordEvent } from '../../storage/events/events.ts'
import type {
  AuthorizationOperations,
  AuthorizationRequest,
  CheckOutcome,
} from './authorization.ts'

/** What a comparison came to. `unresolved`: the HSM gave no answer. */
type Comparison = 'match' | 'mismatch' | 'unresolved'

/**
 * Settles a try that was spent: its result, the tries that it gives back, and its events commit
 * together (docs/authorizations.md, "Tries", rules 2, 3, 4 and 7).
 */
export const settle = (
  { database }: AuthorizationOperations,
  spent: storedTries.SpentTry,
  comparison: Comparison,
  { entryMode, reference, requestId }: AuthorizationRequest,
): Promise<CheckOutcome> =>
  database.transaction(async (connection) => {
    const { epoch, kind, publicToken } = spent
    const counter = await storedTries.lockCounter(connection, spent)
    // A try may change nothing any more when its epoch has ended, or when it was taken for lost and the block
    // that it left was recorded. Its comparison may still come, from a process that stood still.
    const isOver = epoch !== counter.epoch || counter.blockReported
    let remainingTries = counter.remaining
    if (!isOver && comparison === 'match')
      remainingTries = await storedTries.restoreUpTo(connection, spent)
    if (!isOver && comparison === 'unresolved') {
      remainingTries = await storedTries.restoreOne(connection, spent)
    }
    await storedTries.resolveAttempt(connection, spent, comparison, remainingTries)
    if (comparison === 'mismatch') {
      await recordEvent(connection, {
        publicToken,
        type: `${kind}.attempt_failed`,
        requestId,
        details: { remainingTries, entryMode, reference },
        note: null,
      })
      const isUsedUp = !isOver && remainingTries <= 0
      // Not while another try of this epoch may still match and give them all back.
      if (isUsedUp && !(await storedTries.isAttemptPending(connection, publicToken, kind, epoch))) {
        await storedTries.reportBlock(connection, blockEvent(publicToken, kind, requestId), kind)
      }
    }
    return { result: comparison, remainingTries }
  })

const blockEvent = (publicToken: PublicToken, kind: TryKind, requestId: string | null) =>
  ({
    publicToken,
    type: `${kind}.blocked`,
    requestId,
    details: { blockedBy: 'tries' },
    note: null,
  }) as const

const stepSize = 100

/**
 * Writes the events of blocks whose process was lost before it could; any number may do so at once.
 * @param stop ends it between two blocks.
 * @throws AggregateError of those that could not be written, after all the others are.
 */
export async function recordLostBlocks(
  { database }: Pick<AuthorizationOperations, 'database'>,
  stop: AbortSignal = new AbortController().signal,
): Promise<void> {
  const faults: unknown[] = []
  let after: storedTries.UnreportedBlock | null = null
  do {
    const blocks: storedTries.UnreportedBlock[] = await storedTries.listUnreportedBlocks(
      database,
      after,
      stepSize,
    )
    for (const block of blocks) {
      if (stop.aborted) break
      const { kind, publicToken } = block
      const recording = database.transaction(async (connection) => {
        // Another process may have recorded it by now.
        const { blockReported, epoch, remaining } = await storedTries.lockCounter(connection, block)
        if (blockReported || remaining > 0) return
        if (await storedTries.isAttemptPending(connection, publicToken, kind, epoch)) return
        await storedTries.reportBlock(connection, blockEvent(publicToken, kind, null), kind)
      })
      await recording.catch((error: unknown) => faults.push(error))
    }
    // Full ones alone: what comes in meanwhile is for the next time.
    after = blocks.length === stepSize ? (blocks.at(-1) ?? null) : null
  } while (after && !stop.aborted)
  if (faults.length > 0) {
    throw new AggregateError(faults, 'Some blocks could not be recorded.', { cause: faults[0] })
  }
}
