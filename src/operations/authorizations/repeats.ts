import { setTimeout as wait } from 'node:timers/promises'
import { Problem } from '../../domain/problem.ts'
import type { AuthorizedCard } from '../../storage/authorizations/begin.ts'
import { answerAuthorization } from '../../storage/authorizations/settle.ts'
import { newEventId } from '../../storage/events/events.ts'
import type { RememberedRequest } from '../../storage/idempotency/idempotency.ts'
import * as idempotency from '../idempotency/idempotency.ts'
import { storeFirstAnswer } from './answer.ts'
import type { Authorization, AuthorizationContext, AuthorizationRequest } from './authorization.ts'
import { composeAnswer, toAnsweredAuthorization } from './compose-answer.ts'
import { traceRequest } from './trace.ts'

/** How long a repeat waits for the answer of the first request. */
const waitMs = 2_000
const lookEveryMs = 100
/** After this time, a request without an answer was lost with its process. */
const lostAfterSeconds = 30

/** The same while the card's client decides: until the decision of a lost process is concluded. */
const decidedWithinMs = 8_000
/** Between two attempts to conclude it. */
const concludeEveryMs = 500

/**
 * Answers a request whose key was not free with the answer of the first request. It spends nothing
 * and approves nothing (docs/reference/authorizations.md, "Repeats").
 * @param card null if the request's card is unknown.
 * @throws `Problem` `idempotency_key_reused`, `idempotency_key_in_use`.
 */
export async function answerRepeat(
  context: AuthorizationContext,
  keyed: idempotency.KeyedRequest,
  request: AuthorizationRequest,
  card: AuthorizedCard | null,
): Promise<idempotency.Answer<Authorization>> {
  const { answer, claimId } = await awaitFirst(context, keyed, request, card)
  if (answer) return idempotency.replayAnswer(context.hsm, keyed, { answer, claimId })
  // The first result was lost with its process, and so was its record.
  const repeat = traceRequest(request, context.now())
  const lost = composeAnswer('96', card, repeat, newEventId())
  const kept = await storeFirstAnswer(context, { keyed, claimId, lost }, lost)
  if (!kept.replayed && card) {
    repeat.trail.note({ check: 'answer', result: 'unresolved', responseCode: '96' })
    await answerAuthorization(context.database, toAnsweredAuthorization(repeat, card, lost), null)
  }
  return { ...kept, replayed: true }
}

/** Waits until the first request has an answer or counts as lost. */
async function awaitFirst(
  context: AuthorizationContext,
  keyed: idempotency.KeyedRequest,
  request: AuthorizationRequest,
  card: AuthorizedCard | null,
): Promise<RememberedRequest> {
  for (let waitedMs = 0; waitedMs < decidedWithinMs; waitedMs += lookEveryMs) {
    const remembered = await findFirst(context, keyed)
    if (remembered.answer) return remembered
    const isLost = remembered.ageSeconds >= lostAfterSeconds
    const isLate = waitedMs >= waitMs && waitedMs % concludeEveryMs === 0
    if ((isLost || isLate) && !(await isDecisionWaiting(context, request, card, remembered))) {
      // It may have been concluded after the key was read.
      const now = context.decisions ? await findFirst(context, keyed) : remembered
      if (now.answer || isLost) return now
      break
    }
    await wait(lookEveryMs)
  }
  throw new Problem('idempotency_key_in_use')
}

/** Whether the card's client decides the first request. A decision whose time is over ends. */
async function isDecisionWaiting(
  { decisions }: AuthorizationContext,
  { onWaiting }: AuthorizationRequest,
  card: AuthorizedCard | null,
  { claimId }: RememberedRequest,
): Promise<boolean> {
  if (card === null || !decisions) return false
  const isWaiting = await decisions.concludeOverdue(card.publicToken, claimId)
  if (isWaiting) onWaiting?.()
  return isWaiting
}

async function findFirst(
  { database }: AuthorizationContext,
  keyed: idempotency.KeyedRequest,
): Promise<RememberedRequest> {
  const remembered = await idempotency.findRemembered(database, keyed)
  if (!remembered) throw new Problem('idempotency_key_reused')
  return remembered
}
