import { Problem } from '../../domain/problem.ts'
import {
  type DeliveryRow,
  findDeliveries as listStoredDeliveries,
  queueDelivery as queueAgain,
} from '../../storage/webhooks/deliveries.ts'
import { replayWebhook } from '../../storage/webhooks/webhooks.ts'
import type { CardOperations, Requester } from '../cards/cards.ts'
import { type Answer, once, type RepeatableRequest } from '../idempotency/idempotency.ts'
import { findOwnWebhook, refuseDisabled } from './webhooks.ts'

/** A delivery as its client sees it. */
interface DeliveryRecord extends Pick<DeliveryRow, 'eventId' | 'type' | 'status' | 'tries'> {
  readonly deliveryId: string
  readonly createdAt: string
  readonly nextTryAt?: string
}

/** A page of a webhook's deliveries before one of them, newest first. @throws `Problem` `not_found`. */
export async function listDeliveries(
  { database }: CardOperations,
  caller: Requester,
  webhookId: string,
  beforeDeliveryId: string | null,
  limit: number,
): Promise<DeliveryRecord[]> {
  await findOwnWebhook(database, caller, webhookId)
  const reference = { clientId: caller.clientId, webhookId }
  const rows = await listStoredDeliveries(database, reference, beforeDeliveryId, limit)
  return rows.map(({ createdAt, nextTryAt, position, ...members }) => ({
    deliveryId: position,
    ...members,
    createdAt: createdAt.toISOString(),
    ...(nextTryAt && { nextTryAt: nextTryAt.toISOString() }),
  }))
}

/**
 * Sends a delivery again, now, whether or not it was delivered.
 * @returns the `webhook-id`, which is the same as before.
 * @throws `Problem` `not_found` for a delivery, or an event, that is not kept; `validation_failed`.
 */
export const resendDelivery = (
  issuing: CardOperations,
  caller: Requester,
  webhookId: string,
  deliveryId: string,
  request: RepeatableRequest | null,
): Promise<Answer<{ eventId: string }>> =>
  once(issuing, request, async (connection) => {
    refuseDisabled(await findOwnWebhook(connection, caller, webhookId))
    const reference = { clientId: caller.clientId, webhookId }
    const eventId = await queueAgain(connection, reference, deliveryId)
    if (eventId === null) throw new Problem('not_found')
    return { eventId }
  })

/**
 * Has everything since an instant that this webhook wants and did not get delivered, in order: what
 * failed, what was told while it was disabled or not yet there, and at once what waits to be tried
 * again.
 * @throws `Problem` `not_found`; `validation_failed` for a webhook that is disabled.
 */
export const replayDeliveries = (
  issuing: CardOperations,
  caller: Requester,
  webhookId: string,
  since: string,
  request: RepeatableRequest | null,
): Promise<Answer<{ since: string }>> =>
  once(issuing, request, async (connection) => {
    refuseDisabled(await findOwnWebhook(connection, caller, webhookId))
    await replayWebhook(connection, caller.clientId, webhookId, since)
    return { since }
  })
