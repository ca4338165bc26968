import type { Connection } from '../engine/database.ts'
import { loadStatements } from '../engine/statements.ts'
import type { WebhookReference } from './webhooks.ts'

const declare = loadStatements(import.meta.url)

interface KeptWebhook {
  readonly webhookId: string
  readonly isDeleted: boolean
}

const selectAllWebhooks = declare<{ clientId: string }, KeptWebhook>('list_all_webhooks')

/** A client's webhooks, those that are gone with them. */
export const listAllWebhooks = (connection: Connection, clientId: string): Promise<KeptWebhook[]> =>
  selectAllWebhooks(connection, { clientId })

interface SettledFilter extends WebhookReference {
  readonly days: number
  readonly limit: number
}

const deleteSettled = declare<SettledFilter>('prune_deliveries')

/** Forgets some of an endpoint's settled deliveries older than so many days. @returns how many. */
export const expireDeliveries = async (
  connection: Connection,
  { clientId, webhookId }: WebhookReference,
  days: number,
  limit: number,
): Promise<number> => (await deleteSettled(connection, { clientId, webhookId, days, limit })).length

const deleteDeliveries = declare<WebhookReference & { limit: number }>('remove_deliveries')

/** Removes some of the deliveries of a webhook that is gone. @returns how many. */
export const removeDeliveries = async (
  connection: Connection,
  { clientId, webhookId }: WebhookReference,
  limit: number,
): Promise<number> => (await deleteDeliveries(connection, { clientId, webhookId, limit })).length

const deleteWebhook = declare<WebhookReference>('remove_webhook')

/** Removes the last of a webhook that is gone. */
export const removeWebhook = async (
  connection: Connection,
  reference: WebhookReference,
): Promise<void> => {
  await deleteWebhook(connection, reference)
}
