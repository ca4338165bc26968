import type { TryKind } from '../../domain/tries.ts'
import {
  type ComparedTry,
  type ForeseenAnswer,
  settleMatchAndSpend,
  settleTry,
} from '../../storage/cards/settle-try.ts'
import type { SpentTry } from '../../storage/cards/spend-try.ts'
import {
  listUnreportedBlocks,
  reportLostBlock,
  type UnreportedBlock,
} from '../../storage/cards/tries.ts'
import * as idempotency from '../idempotency/idempotency.ts'
import { type Recorder, recordAnswer } from './answer.ts'
import type { Authorization, AuthorizationContext } from './authorization.ts'
import { recordOf, type TracedQuestion } from './checks.ts'

/** The last try of a question. */
interface LastTry extends ComparedTry {
  /** How many tries are left of its kind when nobody tries it. */
  readonly limit: number
  /** What is answered where so many tries remain. */
  readonly answer: (remaining: number) => Authorization
}

/** Settles a match, and commits with it the spend of the kind that is compared next. */
export const settleAndGoOn = (
  { database }: AuthorizationContext,
  spent: SpentTry,
  next: TryKind,
  asked: TracedQuestion,
): Promise<{ readonly remaining: number; readonly spent: SpentTry | null }> =>
  settleMatchAndSpend(database, spent, next, asked)

/**
 * Settles the last try of a question: its result, the tries that it gives back, its events, its record and the answer
 * commit at once (docs/authorizations.md, "Tries", rules 2, 3, 4 and 7).
 */
export async function settleAndAnswer(
  context: AuthorizationContext,
  { answer, limit, ...compared }: LastTry,
  asked: TracedQuestion,
  recorder: Recorder,
): Promise<idempotency.Answer<Authorization>> {
  const { database, hsm, observe } = context
  const { comparison, spent } = compared
  const foreseen = { match: limit, mismatch: spent.remaining, unresolved: spent.remaining + 1 }
  const remainingThen = foreseen[comparison]
  const then = answer(remainingThen)
  const kept = await foreseenAnswer(context, recorder, remainingThen, then)
  const record = recordOf(asked, spent, then.responseCode)
  const settled = await settleTry(database, compared, record, kept)
  const result = answer(settled.remaining)
  observe.checked(result)
  if (!kept || !recorder.keyed || !settled.answer) return recordAnswer(context, recorder, result)
  const { claimId } = kept
  if (!settled.isOwn) {
    return idempotency.replayAnswer(hsm, recorder.keyed, { answer: settled.answer, claimId })
  }
  observe.answered(result)
  return { result, replayed: false }
}

/**
 * The answer as it is kept if others who try the card at the same time do not change what remains: then it is
 * recorded by itself. Under several hashes it always is, while their key is being replaced.
 */
async function foreseenAnswer(
  { hsm }: AuthorizationContext,
  { claimId, keyed }: Recorder,
  remaining: number,
  result: Authorization,
): Promise<ForeseenAnswer | null> {
  if (!keyed || claimId === null || keyed.keyHashes.length > 1) return null
  const { clientId, keyHashes } = keyed
  const answer = await idempotency.sealAnswer(hsm, keyed, claimId, result)
  return { clientId, keyHash: keyHashes[0], claimId, answer, remaining }
}

const stepSize = 100

/**
 * Writes the events of blocks whose process was lost before it could; any number may do so at once.
 * @param stop ends it between two blocks.
 * @throws AggregateError of those that could not be written, after all the others are.
 */
export async function recordLostBlocks(
  { database }: Pick<AuthorizationContext, 'database'>,
  stop: AbortSignal = new AbortController().signal,
): Promise<void> {
  const faults: unknown[] = []
  let after: UnreportedBlock | null = null
  do {
    const blocks: UnreportedBlock[] = await listUnreportedBlocks(database, after, stepSize)
    for (const block of blocks) {
      if (stop.aborted) break
      await reportLostBlock(database, block).catch((error: unknown) => faults.push(error))
    }
    // Full ones alone: what comes in meanwhile is for the next time.
    after = blocks.length === stepSize ? (blocks.at(-1) ?? null) : null
  } while (after && !stop.aborted)
  if (faults.length > 0) {
    throw new AggregateError(faults, 'Some blocks could not be recorded.', { cause: faults[0] })
  }
}
