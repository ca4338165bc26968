import { once } from '../idempotency/once.ts'
import type { Answer, RepeatableRequest } from '../idempotency/remembered.ts'
import { replayWebhook } from '../storage/webhooks.ts'
import type { Caller, Issuing } from './issuing.ts'
import { holdWebhook, refuseDisabled } from './webhook-record.ts'

/**
 * Has everything since an instant that this webhook wants and did not get delivered, in order: what
 * failed, what was told while it was disabled or not yet there, and at once what waits to be tried
 * again.
 * @throws `Problem` `not_found`; `validation_failed` for a webhook that is disabled.
 */
export const replayDeliveries = (
  issuing: Issuing,
  caller: Caller,
  webhookId: string,
  since: string,
  request: RepeatableRequest | null,
): Promise<Answer<{ since: string }>> =>
  once(issuing, request, async (connection) => {
    refuseDisabled(await holdWebhook(connection, caller, webhookId))
    await replayWebhook(connection, caller.clientId, webhookId, since)
    return { since }
  })
