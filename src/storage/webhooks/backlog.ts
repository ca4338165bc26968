import { type Connection, firstRow } from '../engine/database.ts'
import { loadStatements } from '../engine/statements.ts'

/** The unsent events. Counts stop at 10,000. */
export interface Backlog {
  /** Events that are not yet in the feed of their client. */
  readonly unpublishedEvents: number
  readonly oldestUnpublishedSeconds: number
  /** Deliveries that are pending, due or not. */
  readonly pendingDeliveries: number
  /** Webhooks with due deliveries that no process serves, except failing ones. */
  readonly dueWebhooks: number
  readonly oldestDueSeconds: number
  /** The same for failing webhooks, which wait behind the others. */
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

/** Measures the backlog, with reads of bounded size. */
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
