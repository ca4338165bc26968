import type { Connection } from '../engine/database.ts'
import { loadStatements } from '../engine/statements.ts'
import type { WebhookReference } from './webhooks.ts'

const declare = loadStatements(import.meta.url)

interface KeptWebhook {
  readonly webhookId: string
  readonly isDeleted: boolean
}

const selectAllWebhooks = declare<{ clientId: string }, KeptWebhook>('list_all_webhooks')

/** Lists a client's webhooks, including deleted ones. */
export const listAllWebhooks = (connection: Connection, clientId: string): Promise<KeptWebhook[]> =>
  selectAllWebhooks(connection, { clientId })

interface SettledFilter extends WebhookReference {
  readonly days: number
  readonly limit: number
}

const deleteSettled = declare<SettledFilter>('prune_deliveries')

/**
 * Deletes some of an endpoint's settled deliveries older than a number of days.
 * @returns their number.
 */
export const expireDeliveries = async (
  connection: Connection,
  { clientId, webhookId }: WebhookReference,
  days: number,
  limit: number,
): Promise<number> => (await deleteSettled(connection, { clientId, webhookId, days, limit })).length

const deleteDeliveries = declare<WebhookReference & { limit: number }>('remove_deliveries')

/**
 * Deletes some of the deliveries of a deleted webhook.
 * @returns their number.
 */
export const removeDeliveries = async (
  connection: Connection,
  { clientId, webhookId }: WebhookReference,
  limit: number,
): Promise<number> => (await deleteDeliveries(connection, { clientId, webhookId, limit })).length

const deleteWebhook = declare<WebhookReference>('remove_webhook')

/** Deletes the last rows of a deleted webhook. */
export const removeWebhook = async (
  connection: Connection,
  reference: WebhookReference,
): Promise<void> => {
  await deleteWebhook(connection, reference)
}
