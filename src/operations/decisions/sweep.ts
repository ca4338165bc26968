import { hash } from 'node:crypto'
import {
  listOverdueDecisions,
  type WaitingDecision,
  type WaitingPosition,
} from '../../storage/decisions/conclude.ts'
import { composePinfoldRequest } from './compose-request.ts'
import { type ConcludeContext, conclude } from './conclude.ts'
import { standIn } from './decided.ts'
import { formats } from './formats.ts'
import { applyRule } from './rule.ts'
import { composeWaitingRequest } from './waiting-request.ts'

/** How long after its deadline a decision counts as lost with its process. */
const lostAfterMs = 2_000

/**
 * How long after its deadline a decision can be approved in place of the client. The network ends
 * the authorization before.
 */
const approvableMs = 30_000

/** The decisions that one run concludes at once. */
const decisionsAtOnce = 20

/** The dependencies of a conclusion that may need what stands in for an answer. */
export interface StandInContext extends ConcludeContext {
  /** Receives the error of a fallback's rule. The authorization is declined. */
  readonly ruleFailed: (waiting: WaitingDecision, error: unknown) => void
}

/** Whether the process that asked was lost: it concludes soon after the deadline. */
export const isOverdue = ({ deadline }: WaitingDecision): boolean =>
  Date.now() > deadline.getTime() + lostAfterMs

/** Concludes a decision of a lost process: by the client's answer by a call, or the fallback. */
export async function concludeLost(
  context: StandInContext,
  waiting: WaitingDecision,
): Promise<void> {
  const isApprovable = Date.now() <= waiting.deadline.getTime() + approvableMs
  const { fallback, format } = waiting.pending
  const request = composeWaitingRequest(waiting)
  const inTime = isApprovable ? fallback : ({ ...fallback, onTimeout: 'decline' } as const)
  const decided = standIn(
    inTime,
    'timeout',
    (rule) => applyRule(rule, composePinfoldRequest(request)),
    (error) => context.ruleFailed(waiting, error),
  )
  // Whether it was sent is unknown. If it was, these are its bytes.
  const requestHash = hash('sha256', formats[format].compose(request), 'buffer')
  const durationMs = Math.max(0, waiting.deadline.getTime() - Date.parse(waiting.facts.requestedAt))
  await conclude(context, waiting, {
    decided,
    asked: { error: null, durationMs, statusCode: null, requestHash, answerHash: null },
  })
}

/**
 * Concludes decisions whose process was lost. Several processes may do so at once: each decision is
 * concluded once. A decision that cannot be concluded does not keep the others waiting.
 * @param stop ends it between two steps.
 * @param onError receives the error of one decision, which the next run tries again.
 */
export async function sweepDecisions(
  context: StandInContext,
  onError: (error: unknown) => void,
  stop: AbortSignal = new AbortController().signal,
): Promise<void> {
  let last: WaitingPosition | null = null
  while (!stop.aborted) {
    const overdue: WaitingDecision[] = await listOverdueDecisions(
      context.database,
      lostAfterMs,
      last,
      decisionsAtOnce,
    )
    const concluded = await Promise.allSettled(overdue.map((each) => concludeLost(context, each)))
    for (const each of concluded) if (each.status === 'rejected') onError(each.reason)
    if (overdue.length < decisionsAtOnce) return
    last = overdue.at(-1) ?? null
  }
}
