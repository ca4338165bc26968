import { type Connection, firstRow } from '../engine/database.ts'
import { loadStatements } from '../engine/statements.ts'

/** What has yet to go out. Counts stop at 10,000: what is longer is long. */
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

interface Measured {
  readonly count: number
  readonly seconds: number
}

const declare = loadStatements(import.meta.url)

const measureEvents = declare<object, Measured>('measure_unpublished_events')
const measureDeliveries = declare<object, Measured>('measure_pending_deliveries')
const measureQueues = declare<{ failing: boolean }, Measured>('measure_due_delivery_queues')

/** Measures what has yet to go out, by reads that end however much there is. */
export async function measureBacklog(connection: Connection): Promise<Backlog> {
  const events = await readMeasure(measureEvents(connection, {}))
  const deliveries = await readMeasure(measureDeliveries(connection, {}))
  const due = await readMeasure(measureQueues(connection, { failing: false }))
  const failing = await readMeasure(measureQueues(connection, { failing: true }))
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

const readMeasure = async (rows: Promise<Measured[]>): Promise<Measured> =>
  firstRow(await rows) ?? { count: 0, seconds: 0 }
