import { Problem } from '../errors.ts'
import { once } from '../idempotency/once.ts'
import type { Answer, RepeatableRequest } from '../idempotency/remembered.ts'
import { updateWebhook as updateStoredWebhook } from '../storage/webhooks.ts'
import type { Caller, Issuing } from './issuing.ts'
import {
  storedSettings,
  type WebhookRecord,
  type WebhookSettings,
  webhookRecord,
} from './webhook-record.ts'

/**
 * Replaces what a client may set of a webhook. What is left out is as at its creation: enabled, and
 * without a description. Disabling it gives up what is pending.
 * @throws `Problem` `not_found`.
 */
export const updateWebhook = (
  issuing: Issuing,
  { clientId }: Caller,
  webhookId: string,
  settings: WebhookSettings,
  request: RepeatableRequest | null,
): Promise<Answer<WebhookRecord>> =>
  once(issuing, request, async (connection) => {
    const stored = await storedSettings(issuing.hsm, webhookId, settings)
    const row = await updateStoredWebhook(connection, clientId, webhookId, stored)
    if (!row) throw new Problem('not_found')
    return webhookRecord(issuing.hsm, row)
  })
