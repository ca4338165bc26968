import { randomUUID } from 'node:crypto'
import { validationFailed } from '../errors.ts'
import { once } from '../idempotency/once.ts'
import type { Answer, RepeatableRequest } from '../idempotency/remembered.ts'
import { holdWebhookCount, insertWebhook } from '../storage/webhooks.ts'
import type { Caller, Issuing } from './issuing.ts'
import {
  drawWebhookSecret,
  storedSettings,
  type WebhookRecord,
  type WebhookSettings,
  webhookRecord,
} from './webhook-record.ts'

/** Webhooks that a client may have. */
const webhooksMax = 20

/** A webhook and, the first time that it is answered, its secret. */
export interface CreatedWebhook extends WebhookRecord {
  readonly secret?: string
}

/**
 * Adds a webhook. Its secret is shown now and never again: a repeat of the request gets the webhook
 * without it.
 * @throws `Problem` `validation_failed` when the client has as many as it may.
 */
export async function createWebhook(
  issuing: Issuing,
  { clientId }: Caller,
  settings: WebhookSettings,
  request: RepeatableRequest | null,
): Promise<Answer<CreatedWebhook>> {
  const { hsm } = issuing
  const secret = drawWebhookSecret()
  const webhookId = randomUUID()
  const { replayed, result } = await once(issuing, request, async (connection) => {
    if ((await holdWebhookCount(connection, clientId)) >= webhooksMax) {
      throw validationFailed({ pointer: '', detail: `is one more than the ${webhooksMax} allowed` })
    }
    const sealed = await hsm.sealRecord('webhook-secret', webhookId, secret)
    const stored = await storedSettings(hsm, webhookId, settings)
    const row = await insertWebhook(connection, clientId, webhookId, stored, sealed)
    return webhookRecord(hsm, row)
  })
  return { replayed, result: replayed ? result : { ...result, secret } }
}
