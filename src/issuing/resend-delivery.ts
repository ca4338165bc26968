import { Problem } from '../errors.ts'
import { once } from '../idempotency/once.ts'
import type { Answer, RepeatableRequest } from '../idempotency/remembered.ts'
import { resendDelivery as queueAgain } from '../storage/deliveries.ts'
import type { Caller, Issuing } from './issuing.ts'
import { holdWebhook, refuseDisabled } from './webhook-record.ts'

/**
 * Sends a delivery again, now, whether or not it was delivered.
 * @returns the `webhook-id`, which is the same as before.
 * @throws `Problem` `not_found` for a delivery, or an event, that is not kept; `validation_failed`.
 */
export const resendDelivery = (
  issuing: Issuing,
  caller: Caller,
  webhookId: string,
  deliveryId: string,
  request: RepeatableRequest | null,
): Promise<Answer<{ eventId: string }>> =>
  once(issuing, request, async (connection) => {
    refuseDisabled(await holdWebhook(connection, caller, webhookId))
    const reference = { clientId: caller.clientId, webhookId }
    const eventId = await queueAgain(connection, reference, deliveryId)
    if (eventId === null) throw new Problem('not_found')
    return { eventId }
  })
