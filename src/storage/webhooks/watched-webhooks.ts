import { type Connection, firstRow, statement } from '../engine/database.ts'
import type { WebhookRow } from './webhooks.ts'

/** A webhook with how it gets on, for whoever looks after all of them. */
export interface WatchedWebhookRow extends WebhookRow {
  readonly clientId: string
  readonly consecutiveFailures: number
  readonly failing: boolean
  /** When something is due to be sent; null while nothing is. */
  readonly dueAt: Date | null
}

const watched = `webhook.client_id as "clientId", webhook.webhook_id as "webhookId", url, events, description,
  status, created_at as "createdAt", disabled_at as "disabledAt",
  coalesce(consecutive_failures, 0) as "consecutiveFailures", coalesce(failing, false) as failing,
  nullif(due_at, 'infinity') as "dueAt"
  from webhook left join delivery_queue
    on delivery_queue.client_id = webhook.client_id and delivery_queue.webhook_id = webhook.webhook_id`

const listWatchedStatement = statement(
  'list_watched_webhooks',
  `select ${watched}
   where deleted_at is null and (webhook.client_id, webhook.webhook_id) > ($1, $2::uuid)
   order by webhook.client_id, webhook.webhook_id limit $3`,
)
const listWatchedOfClientStatement = statement(
  'list_watched_webhooks_of_client',
  `select ${watched}
   where deleted_at is null and webhook.client_id = $1 and webhook.webhook_id > $2::uuid
   order by webhook.webhook_id limit $3`,
)
const findWatchedStatement = statement(
  'find_watched_webhook',
  `select ${watched}
   where webhook.client_id = $1 and webhook.webhook_id = $2 and deleted_at is null`,
)

/** Which webhooks are asked for, after one of them, by client and id. */
export interface WatchedFilter {
  /** Null: everybody's. */
  readonly clientId: string | null
  readonly after: { readonly clientId: string; readonly webhookId: string } | null
  readonly limit: number
}

const firstId = '00000000-0000-0000-0000-000000000000'

export const findWatchedWebhooks = (
  connection: Connection,
  { after, clientId, limit }: WatchedFilter,
): Promise<WatchedWebhookRow[]> =>
  connection.query(clientId === null ? listWatchedStatement : listWatchedOfClientStatement, [
    clientId ?? after?.clientId ?? '',
    after?.webhookId ?? firstId,
    limit,
  ])

export const findWatchedWebhook = async (
  connection: Connection,
  clientId: string,
  webhookId: string,
): Promise<WatchedWebhookRow | null> =>
  firstRow(await connection.query<WatchedWebhookRow>(findWatchedStatement, [clientId, webhookId]))

/** An enabled webhook whose deliveries have failed for so long, or so often in a row, that a person has to look. */
export interface FailingWebhookRow {
  readonly clientId: string
  readonly webhookId: string
  readonly consecutiveFailures: number
}

/** So many failures in a row are a finding, however short the time. */
const failuresOfFinding = 20
/** A webhook that fails for so many seconds is a finding, however few the failures. */
const failingSecondsOfFinding = 600

const listFailingStatement = statement(
  'list_failing_webhooks',
  `select webhook.client_id as "clientId", webhook.webhook_id as "webhookId",
     consecutive_failures as "consecutiveFailures"
   from delivery_queue join webhook
     on webhook.client_id = delivery_queue.client_id
     and webhook.webhook_id = delivery_queue.webhook_id
   where failing and (
     consecutive_failures >= ${failuresOfFinding}
     or failing_since <= now() - interval '${failingSecondsOfFinding} seconds'
   ) and status = 'Enabled' and deleted_at is null
   order by consecutive_failures desc, webhook.client_id, webhook.webhook_id limit $1`,
)

/** The enabled webhooks of all clients that fail, the one with the most failures in a row first. */
export const listFailingWebhooks = (
  connection: Connection,
  limit: number,
): Promise<FailingWebhookRow[]> => connection.query(listFailingStatement, [limit])
