import { listWebhooks as listStoredWebhooks } from '../storage/webhooks.ts'
import type { Caller, Issuing } from './issuing.ts'
import { type WebhookRecord, webhookRecord } from './webhook-record.ts'

/** Some of the caller's webhooks after one of them, by id. */
export async function listWebhooks(
  { database, hsm }: Issuing,
  { clientId }: Caller,
  afterWebhookId: string | null,
  limit: number,
): Promise<WebhookRecord[]> {
  const rows = await listStoredWebhooks(database, clientId, afterWebhookId, limit)
  return Promise.all(rows.map((row) => webhookRecord(hsm, row)))
}
