import { type Connection, firstRow, statement } from './database.ts'
import type { WebhookStatus } from './webhooks.ts'

/** Names one endpoint. */
export interface WebhookReference {
  readonly clientId: string
  readonly webhookId: string
}

const claimStatement = statement(
  'claim_delivery_queues',
  `update delivery_queue set holder = $1, leased_until = now() + make_interval(secs => $4)
   from (
     select client_id, webhook_id from delivery_queue
     where failing = $2 and due_at <= now() and leased_until <= now() order by due_at limit $3
   ) as due
   where delivery_queue.client_id = due.client_id and delivery_queue.webhook_id = due.webhook_id
     and delivery_queue.due_at <= now() and delivery_queue.leased_until <= now()
   returning delivery_queue.client_id as "clientId", delivery_queue.webhook_id as "webhookId"`,
)

/** Takes some of the endpoints that have something due and that nobody drains. */
export const claimQueues = (
  connection: Connection,
  holder: string,
  { failing, limit }: { failing: boolean; limit: number },
  seconds: number,
): Promise<WebhookReference[]> =>
  connection.query(claimStatement, [holder, failing, limit, seconds])

/** What whoever drains an endpoint must know of it. */
export interface DrainedWebhook {
  /** Changes whenever there may be something new to do. */
  readonly wakes: string
  readonly url: string
  readonly status: WebhookStatus
  readonly isDeleted: boolean
  readonly isReplaying: boolean
  /** Sealed. */
  readonly secret: Uint8Array
  /** Sealed; null when none but the present one signs. */
  readonly previousSecret: Uint8Array | null
}

const renewStatement = statement(
  'renew_delivery_queue',
  `with renewed as (
     update delivery_queue set leased_until = now() + make_interval(secs => $4)
     where client_id = $1 and webhook_id = $2 and holder = $3
     returning wakes
   )
   select wakes::text as "wakes", url, status, deleted_at is not null as "isDeleted",
     replay_after is not null as "isReplaying", secret,
     case when previous_secret_until > now() then previous_secret end as "previousSecret"
   from renewed cross join webhook where client_id = $1 and webhook_id = $2`,
)

/** Keeps an endpoint for so many seconds more. @returns null when another process has it. */
export const renewQueue = async (
  connection: Connection,
  { clientId, webhookId }: WebhookReference,
  holder: string,
  seconds: number,
): Promise<DrainedWebhook | null> =>
  firstRow(
    await connection.query<DrainedWebhook>(renewStatement, [clientId, webhookId, holder, seconds]),
  )

const releaseStatement = statement(
  'release_delivery_queue',
  `update delivery_queue set holder = null, leased_until = '-infinity', failing = $5,
     due_at = coalesce((
       select min(due_at) from delivery_lane
       where client_id = $1 and webhook_id = $2 and pending > 0
     ), 'infinity')
   where client_id = $1 and webhook_id = $2 and holder = $3 and wakes = $4::bigint
   returning webhook_id as "webhookId"`,
)

/**
 * Lets go of an endpoint until its next lane is due.
 * @param wakes what was seen before the lanes were looked at.
 * @returns false, and keeps it, when something came in since.
 */
export const releaseQueue = async (
  connection: Connection,
  { clientId, webhookId }: WebhookReference,
  holder: string,
  wakes: string,
  failing: boolean,
): Promise<boolean> =>
  (await connection.query(releaseStatement, [clientId, webhookId, holder, wakes, failing]))
    .length === 1

const abandonStatement = statement(
  'abandon_delivery_queue',
  `update delivery_queue set holder = null, leased_until = '-infinity', due_at = now()
   where client_id = $1 and webhook_id = $2 and holder = $3`,
)

/** Lets another process have an endpoint at once, whatever is left to do. */
export const abandonQueue = async (
  connection: Connection,
  { clientId, webhookId }: WebhookReference,
  holder: string,
): Promise<void> => {
  await connection.query(abandonStatement, [clientId, webhookId, holder])
}
