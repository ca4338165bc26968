import { type Connection, statement } from '../engine/database.ts'

/** What has yet to go out. Counts stop at {@link countedMost}. */
export interface Backlog {
  /** Events that are not in the feed of their client yet. */
  readonly unpublishedEvents: number
  readonly oldestUnpublishedSeconds: number
  /** Deliveries that are pending, due or not. */
  readonly pendingDeliveries: number
  /** Webhooks that have something due which nobody sends, but for failing ones. */
  readonly dueWebhooks: number
  readonly oldestDueSeconds: number
  /** The same of those that fail, which wait behind the others. */
  readonly failingWebhooks: number
  readonly oldestFailingSeconds: number
}

/** So many rows are looked at: what is longer is long. */
const countedMost = 10_000

// Each is the beginning of an index that holds nothing but what is counted.
const eventsStatement = statement(
  'measure_unpublished_events',
  `select count(*)::integer as "count",
     greatest(0, coalesce(extract(epoch from now() - min(occurred_at)), 0))::float8 as "seconds"
   from (
     select occurred_at from event where not published
     order by occurred_at, public_token, sequence limit ${countedMost}
   ) as unpublished`,
)

const deliveriesStatement = statement(
  'measure_pending_deliveries',
  `select coalesce(sum(pending), 0)::integer as "count", 0::float8 as "seconds"
   from (select pending from delivery_group where pending > 0 limit ${countedMost}) as groups`,
)

const queuesStatement = statement(
  'measure_due_delivery_queues',
  `select count(*)::integer as "count",
     greatest(0, coalesce(extract(epoch from now() - min(due_at)), 0))::float8 as "seconds"
   from (
     select due_at from delivery_queue
     where failing = $1 and due_at <= now() and leased_until <= now() and exists (
       select 1 from client where client.client_id = delivery_queue.client_id and receives_events
     )
     order by due_at limit ${countedMost}
   ) as due`,
)

interface Measured {
  readonly count: number
  readonly seconds: number
}

/** Measures what has yet to go out, by reads that end however much there is. */
export async function measureBacklog(connection: Connection): Promise<Backlog> {
  const measure = async (...query: Parameters<typeof connection.query>): Promise<Measured> => {
    const [row] = await connection.query<Measured>(...query)
    return row ?? { count: 0, seconds: 0 }
  }
  const events = await measure(eventsStatement)
  const deliveries = await measure(deliveriesStatement)
  const due = await measure(queuesStatement, [false])
  const failing = await measure(queuesStatement, [true])
  return {
    unpublishedEvents: events.count,
    oldestUnpublishedSeconds: events.seconds,
    pendingDeliveries: deliveries.count,
    dueWebhooks: due.count,
    oldestDueSeconds: due.seconds,
    failingWebhooks: failing.count,
    oldestFailingSeconds: failing.seconds,
  }
}
