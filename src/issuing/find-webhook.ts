import type { Caller, Issuing } from './issuing.ts'
import { holdWebhook, type WebhookRecord, webhookRecord } from './webhook-record.ts'

/** The caller's webhook. @throws `Problem` `not_found`. */
export const findWebhook = async (
  { database, hsm }: Issuing,
  caller: Caller,
  webhookId: string,
): Promise<WebhookRecord> => webhookRecord(hsm, await holdWebhook(database, caller, webhookId))
