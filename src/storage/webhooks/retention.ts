import { type Connection, statement } from '../engine/database.ts'
import type { WebhookReference } from './queues.ts'

const webhooksStatement = statement(
  'list_all_webhooks',
  `select webhook_id as "webhookId", coalesce(deleted_at < now() - interval '1 minute', false)
     as "isDeleted"
   from webhook where client_id = $1`,
)

/** A client's webhooks, those that are gone with them. */
export const listAllWebhooks = (
  connection: Connection,
  clientId: string,
): Promise<{ webhookId: string; isDeleted: boolean }[]> =>
  connection.query(webhooksStatement, [clientId])

const deliveriesStatement = statement(
  'prune_deliveries',
  `with old as materialized (
     select position from delivery
     where client_id = $1 and webhook_id = $2 and status <> 'Pending'
       and created_at < (select now() - make_interval(days => $3))
     order by created_at limit $4
   )
   delete from delivery
   where client_id = $1 and webhook_id = $2 and position = any(array(select position from old))
     and status || '' <> 'Pending'
   returning position`,
)

/** Forgets some of an endpoint's settled deliveries older than so many days. @returns how many. */
export const pruneDeliveries = async (
  connection: Connection,
  { clientId, webhookId }: WebhookReference,
  days: number,
  limit: number,
): Promise<number> =>
  (await connection.query(deliveriesStatement, [clientId, webhookId, days, limit])).length

const removeDeliveriesStatement = statement(
  'remove_deliveries',
  `delete from delivery
   where client_id = $1 and webhook_id = $2 and position = any(array(
     select position from delivery where client_id = $1 and webhook_id = $2
     order by position limit $3
   ))
   returning position`,
)

/** Removes some of the deliveries of a webhook that is gone. @returns how many. */
export const removeDeliveries = async (
  connection: Connection,
  { clientId, webhookId }: WebhookReference,
  limit: number,
): Promise<number> =>
  (await connection.query(removeDeliveriesStatement, [clientId, webhookId, limit])).length

const removeStatement = statement(
  'remove_webhook',
  `with groups as (delete from delivery_group where client_id = $1 and webhook_id = $2),
   queue as (delete from delivery_queue where client_id = $1 and webhook_id = $2),
   secrets as (delete from webhook_former_secret where client_id = $1 and webhook_id = $2)
   delete from webhook where client_id = $1 and webhook_id = $2 and deleted_at is not null`,
)

/** Removes the last of a webhook that is gone. */
export const removeWebhook = async (
  connection: Connection,
  { clientId, webhookId }: WebhookReference,
): Promise<void> => {
  await connection.query(removeStatement, [clientId, webhookId])
}
