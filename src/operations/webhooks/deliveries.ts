import type { Requester } from '../../domain/client.ts'
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
  readonly createdAt: string
  readonly nextTryAt?: string
}

/** Which deliveries of a webhook are asked for. */
interface DeliveryFilter {
  readonly webhookId: string
  /** The delivery after the last one, newest first; null for the newest. */
  readonly before: string | null
  readonly limit: number
}

/**
 * A page of a webhook's deliveries before one of them, newest first.
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
  return rows.map(({ createdAt, nextTryAt, position, ...members }) => ({
    deliveryId: position,
    ...members,
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
 * Sends a delivery again, now, whether or not it was delivered.
 * @returns the `webhook-id`, which is the same as before.
 * @throws `Problem` `not_found` for a delivery, or an event, that is not kept; `validation_failed`.
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
    if (eventId === null) throw new Problem('not_found')
    return { eventId }
  })

/** What is to be delivered again: everything since an instant (RFC 3339). */
interface Replay {
  readonly webhookId: string
  readonly since: string
}

/**
 * Has everything since an instant that this webhook wants and did not get delivered, in order: what
 * failed, what happened while it was disabled or not yet there, and at once what waits to be tried
 * again.
 * @throws `Problem` `not_found`; `validation_failed` for a webhook that is disabled.
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
