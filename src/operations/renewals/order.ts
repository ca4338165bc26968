import { formatDate } from '../../domain/calendar.ts'
import type { PublicToken } from '../../domain/identifiers.ts'
import { Problem, type ProblemCode } from '../../domain/problem.ts'
import { findCardToRenew } from '../../storage/cards/renewals.ts'
import { hasPlasticOfJob, orderRenewal } from '../../storage/renewals/due.ts'
import type { CardContext } from '../cards/cards.ts'
import { type PlannedRenewal, planRenewal } from '../cards/renewals.ts'

/** The dependencies of renewals, which need no HSM. */
export type RenewalContext = Pick<CardContext, 'database' | 'now'>

/** A card that the service renews automatically, or for a job. */
interface RenewedCard {
  readonly publicToken: PublicToken
  readonly clientId: string
}

/** The job that orders it; null for an automatic renewal. */
interface RenewalOrigin {
  readonly jobId: string
  readonly requestId: string
  /** `YYYY-MM-DD`: a card whose last day is not before it is refused. */
  readonly expiringBefore: string
}

/** The outcome for a card: ordered, or the code of the refusal that a client would get. */
export type RenewalOutcome = 'ordered' | ProblemCode

/** A card that changes meanwhile is read again. */
const attemptsMax = 3

/** Orders the renewal of a card with the default expiry, by the rules that hold for its client. */
export async function orderDueRenewal(
  context: RenewalContext,
  card: RenewedCard,
  origin: RenewalOrigin | null,
): Promise<RenewalOutcome> {
  const { database } = context
  const { clientId, publicToken } = card
  for (let attempt = 0; attempt < attemptsMax; attempt += 1) {
    // A process that was lost after its order did not record it.
    if (origin && (await hasPlasticOfJob(database, publicToken, origin.jobId))) return 'ordered'
    const plan = await planDueRenewal(context, card, origin)
    if (typeof plan === 'string') return plan
    const isDone = await orderRenewal(database, {
      ...plan,
      publicToken,
      clientId,
      endsReprint: origin === null,
      jobId: origin?.jobId ?? null,
      requestId: origin?.requestId ?? null,
    })
    if (isDone) return 'ordered'
  }
  return 'unavailable'
}

/** Returns what {@link orderDueRenewal} would return for a job, and orders nothing. */
export async function foreseeRenewal(
  context: RenewalContext,
  card: RenewedCard,
  origin: RenewalOrigin,
): Promise<RenewalOutcome> {
  const plan = await planDueRenewal(context, card, origin)
  return typeof plan === 'string' ? plan : 'ordered'
}

async function planDueRenewal(
  context: RenewalContext,
  { clientId, publicToken }: RenewedCard,
  origin: RenewalOrigin | null,
): Promise<PlannedRenewal | ProblemCode> {
  const card = await findCardToRenew(context.database, publicToken, clientId)
  if (!card) return 'card_not_found'
  // A job may have found the card before another one renewed it.
  if (origin !== null && card.validUntil >= origin.expiringBefore) return 'renewal_not_due'
  // Only an act of the client ends a renewal that waited until it expired, or was returned.
  if (card.validUntil > card.expiryDate) return 'renewal_in_progress'
  const at = context.now()
  try {
    const fixed = { database: context.database, now: () => at }
    return await planRenewal(
      fixed,
      card,
      { step: 'Renew', endsReprint: origin === null },
      formatDate(at),
    )
  } catch (error) {
    if (error instanceof Problem && error.status < 500) return error.code
    throw error
  }
}
