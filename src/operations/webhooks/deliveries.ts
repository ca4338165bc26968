import type { Requester } from '../../domain/client.ts'
import { isPublicToken, type PublicToken } from '../../domain/identifiers.ts'
import { Problem } from '../../domain/problem.ts'
import { type Backlog, measureBacklog } from '../../storage/webhooks/backlog.ts'
import {
  type DeliveryRow,
  listDeliveryRows,
  queueDelivery,
} from '../../storage/webhooks/deliveries.ts'
import { replayWebhook } from '../../storage/webhooks/webhooks.ts'
import { type Answer, once, type RepeatableRequest } from '../idempotency/idempotency.ts'
import { findOwnWebhook, refuseDisabled, type WebhookContext } from './webhooks.ts'

/** A delivery as its client sees it. */
interface DeliveryRecord extends Pick<DeliveryRow, 'eventId' | 'type' | 'status' | 'tries'> {
  readonly deliveryId: string
  /** The card of the event; none for a ping. */
  readonly publicToken?: PublicToken
  readonly createdAt: string
  readonly nextTryAt?: string
}

/** Selects the deliveries of a webhook. */
interface DeliveryFilter {
  readonly webhookId: string
  /** The delivery that precedes the page, in the order newest first; null for the first page. */
  readonly before: string | null
  readonly limit: number
}

/**
 * Lists a page of a webhook's deliveries, newest first.
 * @throws `Problem` `not_found`.
 */
export async function listDeliveries(
  { database }: WebhookContext,
  requester: Requester,
  { before, limit, webhookId }: DeliveryFilter,
): Promise<DeliveryRecord[]> {
  await findOwnWebhook(database, requester, webhookId)
  const reference = { clientId: requester.clientId, webhookId }
  const rows = await listDeliveryRows(database, reference, before, limit)
  return rows.map(({ createdAt, groupKey, nextTryAt, position, ...members }) => ({
    deliveryId: position,
    ...members,
    ...(isPublicToken(groupKey) && { publicToken: groupKey }),
    createdAt: createdAt.toISOString(),
    ...(nextTryAt && { nextTryAt: nextTryAt.toISOString() }),
  }))
}

/** A delivery of a webhook. */
interface DeliveryReference {
  readonly webhookId: string
  readonly deliveryId: string
}

/**
 * Sends a delivery again at once, whether or not it was delivered.
 * @returns the `webhook-id`, which does not change.
 * @throws `Problem` `not_found` for a delivery or an event that is not stored; `validation_failed`.
 */
export const resendDelivery = (
  context: WebhookContext,
  requester: Requester,
  { deliveryId, webhookId }: DeliveryReference,
  request: RepeatableRequest | null,
): Promise<Answer<{ eventId: string }>> =>
  once(context, request, async (connection) => {
    refuseDisabled(await findOwnWebhook(connection, requester, webhookId))
    const reference = { clientId: requester.clientId, webhookId }
    const eventId = await queueDelivery(connection, reference, deliveryId)
    if (eventId === null) throw deliveryNotFound()
    return { eventId }
  })

/** The failure of a resend whose delivery or event is not stored. The event of a ping never is. */
export const deliveryNotFound = (): Problem =>
  new Problem('not_found', {
    detail:
      'The webhook has no such delivery, or its event is no longer stored. A ping is not sent ' +
      'again: ping the webhook.',
  })

/** A request to deliver everything since an instant (RFC 3339) again. */
interface Replay {
  readonly webhookId: string
  readonly since: string
}

/**
 * Queues every event since an instant that this webhook subscribes to and did not get, in order:
 * failed deliveries, events from while it was disabled or did not exist, and, without further
 * delay, pending retries.
 * @throws `Problem` `not_found`; `validation_failed` for a disabled webhook.
 */
export const replayDeliveries = (
  context: WebhookContext,
  requester: Requester,
  { since, webhookId }: Replay,
  request: RepeatableRequest | null,
): Promise<Answer<{ since: string }>> =>
  once(context, request, async (connection) => {
    refuseDisabled(await findOwnWebhook(connection, requester, webhookId))
    await replayWebhook(connection, requester.clientId, webhookId, since)
    return { since }
  })

/** Counts the deliveries of all clients that are due, each count up to 10 000. */
export const findBacklog = ({ database }: Pick<WebhookContext, 'database'>): Promise<Backlog> =>
  measureBacklog(database)
