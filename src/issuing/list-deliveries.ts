import { type DeliveryRow, listDeliveries as listStoredDeliveries } from '../storage/deliveries.ts'
import type { Caller, Issuing } from './issuing.ts'
import { holdWebhook } from './webhook-record.ts'

/** A delivery as its client sees it. */
export interface DeliveryRecord extends Pick<DeliveryRow, 'eventId' | 'type' | 'status' | 'tries'> {
  readonly deliveryId: string
  readonly createdAt: string
  readonly nextTryAt?: string
}

/** A page of a webhook's deliveries before one of them, newest first. @throws `Problem` `not_found`. */
export async function listDeliveries(
  { database }: Issuing,
  caller: Caller,
  webhookId: string,
  beforeDeliveryId: string | null,
  limit: number,
): Promise<DeliveryRecord[]> {
  await holdWebhook(database, caller, webhookId)
  const reference = { clientId: caller.clientId, webhookId }
  const rows = await listStoredDeliveries(database, reference, beforeDeliveryId, limit)
  return rows.map(({ createdAt, nextTryAt, position, ...members }) => ({
    deliveryId: position,
    ...members,
    createdAt: createdAt.toISOString(),
    ...(nextTryAt && { nextTryAt: nextTryAt.toISOString() }),
  }))
}
