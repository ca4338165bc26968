import { LRUCache } from 'lru-cache'
import type { AskOutcome, DecisionEndpoint, DecisionFacts } from '../../domain/decision.ts'
import type { Money } from '../../domain/money.ts'
import { beginTrial, concludeTrial } from '../../storage/decisions/trials.ts'
import type { Database } from '../../storage/engine/database.ts'
import { newEventId } from '../../storage/events/events.ts'
import type { Authorization } from '../authorizations/authorization.ts'
import type { AskClient } from './ask-client.ts'

/** The request to a shadow version after the answer to the network. */
interface ShadowQuestion {
  readonly endpoint: DecisionEndpoint
  readonly facts: DecisionFacts
  /** The amount that an approval holds, before a decision on a part of it. */
  readonly hold: Money | null
  /** Whether a client decides. Otherwise limits may decline, and the client would not be asked. */
  readonly isDecided: boolean
}

/** How a shadow version's answer compares with the answer that the network got. */
type ShadowResult = 'same' | 'other' | 'unanswered' | 'skipped'

/** Asks shadow versions after the fact, without any effect on an authorization. */
export interface Shadows {
  /** Keeps a question until its authorization is answered. */
  expect(question: ShadowQuestion): void
  /** Asks, if a question waits for this authorization. Returns at once. */
  answered(authorization: Authorization): void
  /** Resolves when nothing is asked. */
  idle(): Promise<void>
}

/** Receives what becomes of questions. */
export interface ShadowObserver {
  compared(result: ShadowResult): void
  /** The database failed. The comparison is lost. */
  faulted(error: unknown): void
}

interface ShadowOptions {
  readonly database: Database
  readonly ask: AskClient
  readonly observe: ShadowObserver
}

/** Questions that wait for an answer to the network, and how long. */
const expectedMost = 10_000
const expectedMs = 30_000

/** How many are asked at once. Others are skipped. */
const askedMost = 200

export function createShadows({ ask, database, observe }: ShadowOptions): Shadows {
  const expected = new LRUCache<string, ShadowQuestion>({ max: expectedMost, ttl: expectedMs })
  const running = new Set<Promise<void>>()

  async function run(question: ShadowQuestion, answer: Authorization): Promise<void> {
    const { endpoint, facts, isDecided } = question
    const { publicToken } = facts.card
    const hold = isDecided ? question.hold : reduceHold(question.hold, answer)
    const decisionId = newEventId()
    const trial = { decisionId, purpose: 'shadow', endpoint, facts, hold } as const
    const reserved = await beginTrial(database, trial)
    if (!reserved) return
    const outcome = await ask(endpoint, { facts, reserved, purpose: 'shadow' })
    await concludeTrial(database, { publicToken, decisionId }, outcome)
    observe.compared(compare(outcome, answer, hold))
  }

  return {
    expect(question) {
      expected.set(question.facts.authorizationId, question)
    },
    answered(answer) {
      const id = answer.authorizationId ?? ''
      const question = expected.get(id)
      if (!question) return
      expected.delete(id)
      if (!question.isDecided && !answer.approved) return
      if (running.size >= askedMost) {
        observe.compared('skipped')
        return
      }
      // The answer to the network goes first.
      const { promise: answerSent, resolve } = Promise.withResolvers<void>()
      setImmediate(resolve)
      const asked = answerSent
        .then(() => run(question, answer))
        .catch(observe.faulted)
        .finally(() => running.delete(asked))
      running.add(asked)
    },
    async idle() {
      await Promise.all(running)
    },
  }
}

/** Returns the part of a hold that the limits left. */
const reduceHold = (hold: Money | null, { approvedAmount }: Authorization): Money | null =>
  hold && approvedAmount !== undefined ? { ...hold, amount: approvedAmount } : hold

function compare(
  { answer }: AskOutcome,
  { approved, approvedAmount }: Authorization,
  hold: Money | null,
): ShadowResult {
  if (answer === null) return 'unanswered'
  if (answer.decision !== 'approve') return approved ? 'other' : 'same'
  const isSameAmount = (answer.amount ?? hold?.amount) === (approvedAmount ?? hold?.amount)
  return approved && isSameAmount ? 'same' : 'other'
}
