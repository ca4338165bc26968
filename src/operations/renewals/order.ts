import { formatDate } from '../../domain/calendar.ts'
import type { PublicToken } from '../../domain/identifiers.ts'
import { Problem, type ProblemCode } from '../../domain/problem.ts'
import { findCardToRenew } from '../../storage/cards/renewals.ts'
import { hasPlasticOfJob, orderRenewal } from '../../storage/renewals/due.ts'
import type { CardContext } from '../cards/cards.ts'
import { type PlannedRenewal, planRenewal } from '../cards/renewals.ts'

/** The dependencies of renewals, which need no HSM. */
export type RenewalContext = Pick<CardContext, 'database' | 'now'>

/** A card that the service renews by itself, or for a job. */
interface RenewedCard {
  readonly publicToken: PublicToken
  readonly clientId: string
}

/** The job that orders it; null for an automatic renewal. */
interface RenewalOrigin {
  readonly jobId: string
  readonly requestId: string
}

/** What became of a card: ordered, or the code of the refusal that a client would get. */
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
    const plan = await planOf(context, card)
    if (typeof plan === 'string') return plan
    const isDone = await orderRenewal(database, {
      ...plan,
      publicToken,
      clientId,
      jobId: origin?.jobId ?? null,
      requestId: origin?.requestId ?? null,
    })
    if (isDone) return 'ordered'
  }
  return 'unavailable'
}

/** Returns what {@link orderDueRenewal} would return, and orders nothing. */
export async function foreseeRenewal(
  context: RenewalContext,
  card: RenewedCard,
): Promise<RenewalOutcome> {
  const plan = await planOf(context, card)
  return typeof plan === 'string' ? plan : 'ordered'
}

async function planOf(
  context: RenewalContext,
  { clientId, publicToken }: RenewedCard,
): Promise<PlannedRenewal | ProblemCode> {
  const card = await findCardToRenew(context.database, publicToken, clientId)
  if (!card) return 'card_not_found'
  // Only an act of the client ends a plastic that waited until it expired.
  if (card.waitingNumber !== null) return 'renewal_in_progress'
  const at = context.now()
  try {
    const fixed = { database: context.database, now: () => at }
    return await planRenewal(fixed, card, { step: 'Renew' }, formatDate(at))
  } catch (error) {
    if (error instanceof Problem && error.status < 500) return error.code
    throw error
  }
}
