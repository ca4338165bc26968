import { type Connection, firstRow, statement } from '../engine/database.ts'
import type { WebhookStatus } from './webhooks.ts'

/** Names one endpoint. */
export interface WebhookReference {
  readonly clientId: string
  readonly webhookId: string
}

/** How an endpoint does, as it is handed on. */
interface QueueHealth {
  readonly consecutiveFailures: number
}

/** So many failures in a row make an endpoint a failing one. */
export const failuresOfFailing = 5

const listDueStatement = statement(
  'list_due_delivery_queues',
  `select client_id as "clientId", webhook_id as "webhookId" from delivery_queue
   where failing = $1 and due_at <= now() and leased_until <= now() and exists (
     select 1 from client where client.client_id = delivery_queue.client_id and receives_events
   )
   order by due_at limit $2`,
)

const claimStatement = statement(
  'claim_delivery_queue',
  `update delivery_queue set holder = $3, leased_until = now() + make_interval(secs => $4)
   where client_id = $1 and webhook_id = $2 and due_at <= now() and leased_until <= now()
   returning client_id as "clientId", webhook_id as "webhookId",
     consecutive_failures as "consecutiveFailures"`,
)

/**
 * Takes some of the endpoints that have something due and that nobody drains. Those of clients that may
 * not be notified stay as they are.
 */
export async function claimQueues(
  connection: Connection,
  holder: string,
  { failing, limit }: { failing: boolean; limit: number },
  seconds: number,
): Promise<(WebhookReference & QueueHealth)[]> {
  const due = await connection.query<WebhookReference>(listDueStatement, [failing, limit])
  const claimed: (WebhookReference & QueueHealth)[] = []
  // One at a time: whoever locked several rows at once could wait in a ring with one who publishes events.
  for (const reference of due) {
    const values = [reference.clientId, reference.webhookId, holder, seconds]
    claimed.push(
      ...(await connection.query<WebhookReference & QueueHealth>(claimStatement, values)),
    )
  }
  return claimed
}

/** What whoever drains an endpoint must know of it. */
export interface DrainedWebhook {
  /** Changes whenever there may be something new to do. */
  readonly arrivals: string
  readonly url: string
  /** When it got this address, or was enabled again, on the clock that stands still while it is suspended. */
  readonly urlSince: Date
  /** How far that clock is behind. */
  readonly suspendedSeconds: number
  /** Whether its client may be notified now. */
  readonly receivesEvents: boolean
  readonly status: WebhookStatus
  readonly isDeleted: boolean
  readonly isReplaying: boolean
  /** Sealed. */
  readonly secret: Uint8Array
  /** Those before it that still sign, sealed, in hexadecimal, the latest first. */
  readonly formerSecrets: readonly string[]
}

const renewStatement = statement(
  'renew_delivery_queue',
  `with renewed as (
     update delivery_queue set leased_until = now() + make_interval(secs => $4)
     where client_id = $1 and webhook_id = $2 and holder = $3
     returning arrivals
   )
   select arrivals::text as "arrivals", url, url_since as "urlSince", status,
     coalesce(deliveries_suspended_seconds, 0) as "suspendedSeconds",
     coalesce(receives_events, false) as "receivesEvents", deleted_at is not null as "isDeleted", replay_after is not null as "isReplaying", secret,
     array(
       select encode(former.secret, 'hex') from webhook_former_secret former
       where former.client_id = $1 and former.webhook_id = $2 and signs_until > now()
       order by signs_until desc
     ) as "formerSecrets"
   from renewed cross join webhook left join client on client.client_id = $1
   where webhook.client_id = $1 and webhook_id = $2`,
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

// A cluster takes no time of its own within a case of a change.
const clock = 'with clock as materialized (select now() as at)'
const failingSince = (failures: string): string =>
  `case when ${failures} >= ${failuresOfFailing} then coalesce(failing_since, clock.at) end`

const releaseStatement = statement(
  'release_delivery_queue',
  `${clock}
   update delivery_queue set holder = null, leased_until = '-infinity',
     consecutive_failures = $5, failing = $5 >= ${failuresOfFailing},
     failing_since = ${failingSince('$5')},
     due_at = coalesce((
       select min(due_at) from delivery_group
       where client_id = $1 and webhook_id = $2 and pending > 0
     ), 'infinity')
   from clock
   where client_id = $1 and webhook_id = $2 and holder = $3 and arrivals = $4::bigint
   returning webhook_id as "webhookId"`,
)

interface SeenQueue extends QueueHealth {
  /** What was seen before the groups were looked at. */
  readonly arrivals: string
}

/**
 * Lets go of an endpoint until its next group is due.
 * @returns false, and keeps it, when something came in since.
 */
export const releaseQueue = async (
  connection: Connection,
  { clientId, webhookId }: WebhookReference,
  holder: string,
  { arrivals, consecutiveFailures }: SeenQueue,
): Promise<boolean> =>
  (
    await connection.query(releaseStatement, [
      clientId,
      webhookId,
      holder,
      arrivals,
      consecutiveFailures,
    ])
  ).length === 1

const abandonStatement = statement(
  'abandon_delivery_queue',
  `${clock}
   update delivery_queue set holder = null, leased_until = '-infinity', due_at = clock.at,
     consecutive_failures = $4, failing = $4 >= ${failuresOfFailing},
     failing_since = ${failingSince('$4')}
   from clock
   where client_id = $1 and webhook_id = $2 and holder = $3`,
)

/** Lets another process have an endpoint at once, whatever is left to do. */
export const abandonQueue = async (
  connection: Connection,
  { clientId, webhookId }: WebhookReference,
  holder: string,
  { consecutiveFailures }: QueueHealth,
): Promise<void> => {
  await connection.query(abandonStatement, [clientId, webhookId, holder, consecutiveFailures])
}

const markDueStatement = statement(
  'mark_delivery_queue_due',
  `update delivery_queue set arrivals = arrivals + 1, due_at = now()
   where client_id = $1 and webhook_id = $2`,
)

/** Has whoever drains an endpoint, now or next, look at it again. */
export const markQueueDue = async (
  connection: Connection,
  { clientId, webhookId }: WebhookReference,
): Promise<void> => {
  await connection.query(markDueStatement, [clientId, webhookId])
}
