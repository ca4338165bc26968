import type { Requester } from '../../domain/client.ts'
import {
  type DeliveryStatus,
  deliveryMoves,
  listReports,
  noPlastic,
  type ReportedStatus,
} from '../../domain/delivery.ts'
import { Problem } from '../../domain/problem.ts'
import { findBatch } from '../../storage/bureau/batches.ts'
import {
  changeDeliveryStatus,
  findDelivery,
  type PlasticKey,
} from '../../storage/bureau/deliveries.ts'
import { findCard } from '../../storage/cards/cards.ts'
import { findOwner } from '../../storage/cards/search.ts'
import { rememberAnswer } from '../../storage/idempotency/idempotency.ts'
import { type CardActor, type CardContext, changeEvent } from '../cards/cards.ts'
import { type Answer, commitOnce, type RepeatableRequest } from '../idempotency/idempotency.ts'

/** A report of the bureau about a plastic. */
interface DeliveryReport extends PlasticKey {
  readonly to: ReportedStatus
}

/**
 * Records what the bureau reports of a plastic that it took. A report of the present status changes
 * nothing.
 * @throws `Problem` `card_not_found`, `not_found`, also if no batch of the bureau's client has the
 *   plastic; `delivery_conflict` if another status is next.
 */
export async function reportDelivery(
  context: CardContext,
  { clientId: operatorId, requestId }: Requester,
  report: DeliveryReport,
  request: RepeatableRequest | null,
): Promise<Answer<null>> {
  const clientId = await findOwner(context.database, report.publicToken)
  if (clientId === null) throw new Problem('card_not_found')
  // The batch of a plastic never changes.
  const batchId = (await findDelivery(context.database, report))?.batchId ?? null
  const batch = batchId && (await findBatch(context.database, { batchId, clientId: operatorId }))
  if (!batch) throw new Problem('not_found', { detail: notTaken })
  const actor = { clientId, requestId, operatorId }
  return moveDelivery(context, actor, { ...report, mayPassOver: false }, request)
}

const notTaken = 'No batch of your client has a plastic of the card with this number.'

/**
 * Does in a sandbox what the bureau would report of a plastic of the client's own card. The
 * statuses in between are passed, each with its event.
 * @throws as {@link reportDelivery}.
 */
export async function simulateDelivery(
  context: CardContext,
  requester: Requester,
  report: DeliveryReport,
  request: RepeatableRequest | null,
): Promise<Answer<null>> {
  const { clientId } = requester
  if (!(await findCard(context.database, report.publicToken, clientId))) {
    throw new Problem('card_not_found')
  }
  return moveDelivery(context, requester, { ...report, mayPassOver: true }, request)
}

const moveDelivery = (
  context: CardContext,
  actor: CardActor,
  { mayPassOver, plasticNumber, publicToken, to }: DeliveryReport & { mayPassOver: boolean },
  request: RepeatableRequest | null,
): Promise<Answer<null>> =>
  commitOnce<null>(
    context,
    request,
    async (claimFor) => {
      const { database } = context
      const plastic = { publicToken, plasticNumber }
      const from = (await findDelivery(database, plastic))?.deliveryStatus ?? null
      if (from === null) throw new Problem('not_found', { detail: noPlastic })
      const reports = listReports(from, to)
      if (!reports || (reports.length > 1 && !mayPassOver)) {
        throw new Problem('delivery_conflict', { detail: describeConflict(from, to) })
      }
      const [next] = reports
      if (next === undefined) {
        const isDone = await rememberAnswer(database, await claimFor(null))
        return { isDone, result: null }
      }
      const event = await changeEvent(context, actor, {
        publicToken,
        type: 'card.delivery_changed',
        details: { plasticNumber, deliveryStatus: next },
      })
      const isLast = next === to
      const claim = isLast ? await claimFor(null) : null
      const act = { clientId: actor.clientId, event, claim }
      const isDone = await changeDeliveryStatus(database, act, { plasticNumber, from, to: next })
      return { isDone: isDone && isLast, result: null }
    },
    attemptsMax,
  )

const describeConflict = (from: DeliveryStatus, to: ReportedStatus): string =>
  from === 'Cancelled'
    ? 'The plastic is Cancelled, and is not needed. Do not make or send it; destroy what was made.'
    : `The plastic is ${from}; the bureau cannot report ${to} next. ${describeMoves(from)}`

const describeMoves = (from: DeliveryStatus): string =>
  deliveryMoves[from].length > 0
    ? `It can report ${deliveryMoves[from].join(' or ')}.`
    : 'It can report nothing further.'

/** One for each status on the way, and some for reports that come at the same time. */
const attemptsMax = 8
