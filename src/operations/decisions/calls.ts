import { hash } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import type { Requester } from '../../domain/client.ts'
import type { DecisionAnswer, DecisionFacts } from '../../domain/decision.ts'
import { isUuid } from '../../domain/identifiers.ts'
import { toMembers } from '../../domain/members.ts'
import { toMoney } from '../../domain/money.ts'
import { Problem, type ProblemError, validationFailed } from '../../domain/problem.ts'
import {
  findAnsweredDecision,
  type HashedAnswer,
  listCalledAnswers,
  recordLateAnswer,
  takeDecisionAnswer,
} from '../../storage/decisions/calls.ts'
import type { Database } from '../../storage/engine/database.ts'
import { decisionNotFound } from './decision-not-found.ts'
import { type AnswerMember, findAnswer } from './parse-answer.ts'

/** An answer that came by a call of the client, with the hash of its bytes. */
export type CalledAnswer = HashedAnswer

/** The answers that come by calls, for those who wait for one. */
export interface CalledAnswers {
  /**
   * Waits for the answer to a decision: from this process at once, from others within a poll.
   * @returns null when the signal aborts first.
   */
  wait(decisionId: string, signal: AbortSignal): Promise<CalledAnswer | null>
  /** Passes on an answer that this process has taken. */
  deliver(decisionId: string, answer: CalledAnswer): void
  /** Ends all waits with null. */
  close(): Promise<void>
}

const pollMs = 25
/** The rest after a poll that failed. */
const outageMs = 1_000
/** How long, and how many, answers are kept for a wait that begins later. */
const keptMs = 5_000
const keptMost = 10_000

type Settle = (answer: CalledAnswer | null) => void

/**
 * @param onError receives errors of polls, which are repeated. An embedded database has one process
 *   only, and so is not polled.
 */
export function createCalledAnswers(
  database: Database,
  onError: (error: unknown) => void,
): CalledAnswers {
  const waiting = new Map<string, Set<Settle>>()
  const kept = new LRUCache<string, CalledAnswer>({ max: keptMost, ttl: keptMs })
  let restMs = pollMs
  let timer: NodeJS.Timeout | null = null
  let polling: Promise<void> | null = null
  let isClosed = false

  const settleAll = (decisionId: string, answer: CalledAnswer | null) => {
    for (const settle of waiting.get(decisionId) ?? []) settle(answer)
  }
  const poll = async () => {
    const answers = await listCalledAnswers(database, [...waiting.keys()])
    for (const [decisionId, answer] of answers) settleAll(decisionId, answer)
    restMs = pollMs
  }
  const schedule = () => {
    if (!database.isShared || isClosed || timer !== null || polling !== null || waiting.size === 0)
      return
    timer = setTimeout(() => {
      timer = null
      if (waiting.size === 0) return
      polling = poll()
        .catch((error: unknown) => {
          restMs = outageMs
          onError(error)
        })
        .finally(() => {
          polling = null
          schedule()
        })
    }, restMs)
  }

  return {
    wait(decisionId, signal) {
      const known = kept.get(decisionId)
      if (known) return Promise.resolve(known)
      if (isClosed || signal.aborted) return Promise.resolve(null)
      return new Promise((resolve) => {
        const settles = waiting.get(decisionId) ?? new Set()
        const abort = () => settle(null)
        const settle: Settle = (answer) => {
          signal.removeEventListener('abort', abort)
          settles.delete(settle)
          if (settles.size === 0) waiting.delete(decisionId)
          resolve(answer)
        }
        settles.add(settle)
        waiting.set(decisionId, settles)
        signal.addEventListener('abort', abort, { once: true })
        schedule()
      })
    },
    deliver(decisionId, answer) {
      // Its wait may not have begun: the request may be on a stream before.
      kept.set(decisionId, answer)
      settleAll(decisionId, answer)
    },
    async close() {
      isClosed = true
      if (timer) clearTimeout(timer)
      for (const decisionId of [...waiting.keys()]) settleAll(decisionId, null)
      await polling
    },
  }
}

interface AnswerContext {
  readonly database: Database
  readonly answers: Pick<CalledAnswers, 'deliver'>
  /** The clock of the service, by which holds expire. */
  readonly now: () => Date
}

/** An answer as a client's call states it, with the exact bytes. */
interface StatedAnswer {
  readonly body: unknown
  readonly bytes: Uint8Array
  /** Deviations from the documented form. Reported only if the answer cannot be used. */
  readonly shapeFaults: readonly ProblemError[]
}

/**
 * Takes an answer to a decision by a call of its client. The first answer wins.
 * @returns the answer, which is the answer of the decision from now on.
 * @throws `Problem` `not_found`, `validation_failed`, `decision_answered` if another
 *   answer was first, `decision_over` if it comes too late: then it is reported.
 */
export async function answerByCall(
  { answers, database, now }: AnswerContext,
  { clientId, requestId }: Requester,
  decisionId: string,
  { body, bytes, shapeFaults }: StatedAnswer,
): Promise<DecisionAnswer> {
  const found = isUuid(decisionId)
    ? await findAnsweredDecision(database, clientId, decisionId)
    : null
  if (!found) throw decisionNotFound(decisionId)
  const { heldAmount, heldCurrencyCode: currency, publicToken } = found
  const facts = JSON.parse(found.facts) as DecisionFacts
  const parsed = findAnswer(toMembers(body), {
    decisionId,
    hold: toMoney(heldAmount, currency),
    partialAllowed: facts.partialAllowed,
    now: now(),
  })
  if ('member' in parsed) {
    const fault = { pointer: `/${parsed.member}`, detail: faults[parsed.member] }
    throw validationFailed(...(shapeFaults.length > 0 ? shapeFaults : [fault]))
  }
  const stated = { answer: parsed.answer, answerHash: hash('sha256', bytes, 'buffer') }
  const key = { publicToken, decisionId }
  const { outcome, said } = await takeDecisionAnswer(database, key, stated)
  if (outcome === 'unknown') throw decisionNotFound(decisionId)
  if (outcome === 'taken') {
    throw new Problem('decision_answered', { detail: `The first answer was ${writeSaid(said)}.` })
  }
  if (outcome === 'late') {
    await recordLateAnswer(database, key, stated, requestId)
    throw new Problem('decision_over', {
      detail: 'The deadline has passed, or the decision was made without this answer.',
    })
  }
  answers.deliver(decisionId, stated)
  return parsed.answer
}

const faults: Readonly<Record<AnswerMember, string>> = {
  decision: 'must be approve, decline or challenge',
  decisionId: 'must be the decisionId of the path',
  amount: 'must be from 1 to the amount of the hold, and less only if a part is allowed',
  reason: 'must be one of the reasons of the reference',
  responseCode: 'must be one of the response codes of the reference',
  holdExpiresAt: 'must be an instant in UTC, in the future and within 31 days',
  metadata:
    'must be an object that contains no card number and has at most 2,000 characters as JSON',
}

/** Writes the first answer for a person: what it decided, without what was not said. */
function writeSaid(said: string | null): string {
  const { amount, decision, reason, responseCode } = JSON.parse(said ?? '{}') as DecisionAnswer
  const parts = [decision, amount, reason, responseCode].filter((part) => part != null)
  return parts.join(' ')
}
