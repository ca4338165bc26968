import { setTimeout as wait } from 'node:timers/promises'
import { Problem } from '../../domain/problem.ts'
import {
  type NewAuthorizationRecord,
  recordAuthorization,
} from '../../storage/cards/new-authorizations.ts'
import { type RememberedRequest, storeAnswer } from '../../storage/idempotency/idempotency.ts'
import * as idempotency from '../idempotency/idempotency.ts'
import type { Authorization, AuthorizationContext } from './authorization.ts'

/** How an answer is recorded, and what is answered where that cannot be. */
export interface Recorder {
  readonly keyed: idempotency.KeyedRequest | null
  /** Under which the answer is to be recorded; null without an idempotency key. */
  readonly claimId: string | null
  readonly lost: Authorization
}

/**
 * Records an answer unless one is recorded: the first is what everybody gets. So a request that was
 * merely slow, and whose repeat took it for lost, has one answer.
 */
export async function recordAnswer(
  { database, hsm, observe }: AuthorizationContext,
  { claimId, keyed, lost }: Recorder,
  result: Authorization,
): Promise<idempotency.Answer<Authorization>> {
  let first = result
  if (keyed && claimId !== null) {
    const sealed = await idempotency.sealAnswer(hsm, keyed, claimId, result)
    const stored = await storeAnswer(database, keyed, claimId, sealed)
    if (stored && !stored.isOwn) {
      return idempotency.replayAnswer(hsm, keyed, { answer: stored.answer, claimId })
    }
    // Without a row its key has been forgotten, and nobody knows what its repeats were answered.
    if (!stored) first = lost
  }
  observe.answered(first)
  return { result: first, replayed: false }
}

/** How long a repeat waits for the first request to be answered. */
const waitMs = 2_000
const lookEveryMs = 100
/** A request that has not answered by then was lost with its process. */
const lostAfterSeconds = 30

/** What is answered, and put on record, where the first result was lost. */
interface LostQuestion {
  readonly lost: Authorization
  /** Null where no card is known that it was about. */
  readonly record: NewAuthorizationRecord | null
}

/**
 * Answers a question whose key was not free, as the first one was answered; nothing is spent, and nothing is
 * approved (docs/authorizations.md, "Repeats").
 * @throws `Problem` `idempotency_key_reused`, `idempotency_key_in_use`.
 */
export async function answerRepeat(
  context: AuthorizationContext,
  keyed: idempotency.KeyedRequest,
  { lost, record }: LostQuestion,
): Promise<idempotency.Answer<Authorization>> {
  const { answer, claimId } = await awaitFirst(context, keyed)
  if (answer) return idempotency.replayAnswer(context.hsm, keyed, { answer, claimId })
  // The first result was lost with its process, and so was its record.
  const recorded = await recordAnswer(context, { keyed, claimId, lost }, lost)
  if (!recorded.replayed && record) await recordAuthorization(context.database, record)
  return { ...recorded, replayed: true }
}

/** The first request, when it is answered or is taken for lost. */
async function awaitFirst(
  { database }: AuthorizationContext,
  keyed: idempotency.KeyedRequest,
): Promise<RememberedRequest> {
  for (let waitedMs = 0; waitedMs < waitMs; waitedMs += lookEveryMs) {
    const remembered = await idempotency.findRemembered(database, keyed)
    if (!remembered) throw new Problem('idempotency_key_reused')
    if (remembered.answer || remembered.ageSeconds >= lostAfterSeconds) return remembered
    await wait(lookEveryMs)
  }
  throw new Problem('idempotency_key_in_use')
}
