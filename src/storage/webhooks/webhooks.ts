import { deliveryClock } from '../clients/suspensions.ts'
import { type Connection, firstRow, type Statement, statement } from '../engine/database.ts'

export type WebhookStatus = 'Enabled' | 'Disabled'

/** What a client may set of a webhook. */
interface WebhookColumns {
  readonly url: string
  /** Types of events, or `*` alone. */
  readonly events: readonly string[]
  /** Sealed. */
  readonly description: Uint8Array | null
  readonly status: WebhookStatus
}

export interface WebhookRow extends WebhookColumns {
  readonly webhookId: string
  readonly createdAt: Date
  readonly disabledAt: Date | null
}

const columns = `webhook_id as "webhookId", url, events, description, status,
  created_at as "createdAt", disabled_at as "disabledAt"`

const insertStatement = statement(
  'insert_webhook',
  `with queue as (
     insert into delivery_queue (client_id, webhook_id) values ($1, $2)
   )
   insert into webhook
     (client_id, webhook_id, url, events, description, status, secret, disabled_at, url_since)
   select $1, $2::uuid, $3, $4::text[], $5::bytea, $6, $7::bytea,
     case when $6 = 'Disabled' then now() end, ${deliveryClock}
   returning ${columns}`,
)

/** Adds a webhook under an id that is new. */
export const insertWebhook = async (
  connection: Connection,
  clientId: string,
  webhookId: string,
  { description, events, secret, status, url }: WebhookColumns & { readonly secret: Uint8Array },
): Promise<WebhookRow> => {
  const values = [clientId, webhookId, url, events, description, status, secret]
  const [row] = await connection.query<WebhookRow>(insertStatement, values)
  if (!row) throw new Error('A webhook was not added.')
  return row
}

const lockClientStatement = statement(
  'lock_client_for_webhooks',
  'select client_id as "clientId" from client where client_id = $1 for no key update',
)

const countStatement = statement(
  'count_webhooks',
  'select count(*)::integer as count from webhook where client_id = $1 and deleted_at is null',
)

/** How many webhooks a client has. Whoever else asks waits until the transaction ends. */
export const lockWebhookCount = async (
  connection: Connection,
  clientId: string,
): Promise<number> => {
  await connection.query(lockClientStatement, [clientId])
  return firstRow(await connection.query<{ count: number }>(countStatement, [clientId]))?.count ?? 0
}

const listStatement = statement(
  'list_webhooks',
  `select ${columns} from webhook
   where client_id = $1 and deleted_at is null and ($2::uuid is null or webhook_id > $2)
   order by webhook_id limit $3`,
)

/** A client's webhooks after one of them, by id. */
export const findWebhooks = (
  connection: Connection,
  clientId: string,
  afterWebhookId: string | null,
  limit: number,
): Promise<WebhookRow[]> => connection.query(listStatement, [clientId, afterWebhookId, limit])

const findStatement = statement(
  'find_webhook',
  `select ${columns} from webhook
   where client_id = $1 and webhook_id = $2 and deleted_at is null`,
)

/** A client's webhook, or null. */
export const findWebhook = async (
  connection: Connection,
  clientId: string,
  webhookId: string,
): Promise<WebhookRow | null> =>
  firstRow(await connection.query<WebhookRow>(findStatement, [clientId, webhookId]))

/** A change of a webhook, after which whoever drains it looks at it again. */
const change = (name: string, assignments: string): Statement =>
  statement(
    name,
    `with marked as (
       update delivery_queue set arrivals = arrivals + 1, due_at = now()
       where client_id = $1 and webhook_id = $2
     ), clock as materialized (select now() as at, ${deliveryClock} as of_deliveries)
     update webhook set ${assignments} from clock
     where client_id = $1 and webhook_id = $2 and deleted_at is null
     returning ${columns}`,
  )

const updateStatement = change(
  'update_webhook',
  `url = $3, events = $4, description = $5, status = $6,
   url_since = case when url = $3 and (status = 'Enabled' or $6 = 'Disabled')
     then url_since else clock.of_deliveries end,
   replay_after = case when $6 = 'Enabled' then replay_after end,
   disabled_at = case when $6 = 'Disabled' then coalesce(disabled_at, clock.at) end`,
)

/** Replaces what a client may set. @returns null where there is no such webhook. */
export const updateWebhookRow = async (
  connection: Connection,
  clientId: string,
  webhookId: string,
  { description, events, status, url }: WebhookColumns,
): Promise<WebhookRow | null> =>
  firstRow(
    await connection.query<WebhookRow>(updateStatement, [
      clientId,
      webhookId,
      url,
      events,
      description,
      status,
    ]),
  )

const lockTargetStatement = statement(
  'lock_webhook_target',
  `with asked as (
     select status, url_since from webhook where client_id = $1 and webhook_id = $2 for update
   ), marked as (
     update delivery_queue set arrivals = arrivals + 1
     where client_id = $1 and webhook_id = $2 and exists (select 1 from asked)
   )
   select status, url_since as "urlSince" from asked`,
)

/** Where a webhook's events go: the same since an instant. */
interface WebhookTarget {
  readonly status: WebhookStatus
  readonly urlSince: Date
}

/** Holds a webhook and its queue until the transaction ends. */
export const lockWebhookTarget = async (
  connection: Connection,
  clientId: string,
  webhookId: string,
): Promise<WebhookTarget | null> =>
  firstRow(await connection.query<WebhookTarget>(lockTargetStatement, [clientId, webhookId]))

const disableStatement = change(
  'disable_webhook',
  `status = 'Disabled', disabled_at = now(), replay_after = null`,
)

/** Sends nothing more to an endpoint until its client enables it again. */
export const disableWebhook = async (
  connection: Connection,
  clientId: string,
  webhookId: string,
): Promise<void> => {
  await connection.query(disableStatement, [clientId, webhookId])
}

const deleteStatement = change('delete_webhook', `status = 'Disabled', deleted_at = now()`)

/** Makes a webhook be gone. @returns whether it was there. */
export const markWebhookDeleted = async (
  connection: Connection,
  clientId: string,
  webhookId: string,
): Promise<boolean> => (await connection.query(deleteStatement, [clientId, webhookId])).length === 1

// What a replay that still runs has before it, or behind it, is not begun anew: who asks often would
// otherwise never see its end. Positions follow the times, but for acts that ran at once, none of them for
// minutes. So the first position is among those of the first ten, and no more are looked at.
const replayStatement = statement(
  'replay_webhook',
  `with earliest as (
     select min(occurred_at) as occurred_at from published_event
     where client_id = $1 and occurred_at >= $3::timestamptz
   ), began as materialized (
     select position from published_event
     where client_id = $1 and occurred_at >= (select occurred_at from earliest)
       and occurred_at <= (select occurred_at from earliest) + interval '10 minutes'
   ), first as (
     select min(position) - 1 as position from began
   ), asked as (
     update webhook set
       replay_after = case when replay_after is null or first.position < replay_from
         then first.position else replay_after end,
       replay_from = case when replay_after is null or first.position < replay_from
         then first.position else replay_from end
     from first where client_id = $1 and webhook_id = $2 and deleted_at is null
     returning webhook_id
   ), marked as (
     update delivery_queue set arrivals = arrivals + 1, due_at = now()
     where client_id = $1 and webhook_id = (select webhook_id from asked)
   )
   select webhook_id as "webhookId" from asked`,
)

/** Has everything since an instant that was not delivered queued again. @returns whether it is there. */
export const replayWebhook = async (
  connection: Connection,
  clientId: string,
  webhookId: string,
  since: string,
): Promise<boolean> =>
  (await connection.query(replayStatement, [clientId, webhookId, since])).length === 1
