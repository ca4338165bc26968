import { randomUUID } from 'node:crypto'
import { Problem } from '../errors.ts'
import { once } from '../idempotency/once.ts'
import type { Answer, RepeatableRequest } from '../idempotency/remembered.ts'
import { queuePing } from '../storage/deliveries.ts'
import type { Caller, Issuing } from './issuing.ts'

/**
 * Has a ping sent, once, to a webhook, even if it is disabled: so that its client can try it. What
 * came of it is among its deliveries.
 * @returns the `webhook-id` that it will have.
 * @throws `Problem` `not_found`.
 */
export const pingWebhook = (
  issuing: Issuing,
  { clientId }: Caller,
  webhookId: string,
  request: RepeatableRequest | null,
): Promise<Answer<{ eventId: string }>> =>
  once(issuing, request, async (connection) => {
    const eventId = randomUUID()
    if (!(await queuePing(connection, { clientId, webhookId }, eventId))) {
      throw new Problem('not_found')
    }
    return { eventId }
  })
