import { type Connection, firstRow } from '../engine/database.ts'
import { loadStatements } from '../engine/statements.ts'
import type { WebhookReference, WebhookStatus } from './webhooks.ts'

/** The state of an endpoint that one holder passes to the next. */
interface QueueHealth {
  readonly consecutiveFailures: number
}

/**
 * The number of consecutive failures after which an endpoint is failing. The statements contain the
 * number, too.
 */
export const failingThreshold = 5

const declare = loadStatements(import.meta.url)

const selectDueQueues = declare<{ failing: boolean; limit: number }, WebhookReference>(
  'list_due_delivery_queues',
)

/** A claim of an endpoint by a process. */
interface QueueLease extends WebhookReference {
  readonly holder: string
  readonly seconds: number
}

const claimQueue = declare<QueueLease, WebhookReference & QueueHealth>('claim_delivery_queue')

/**
 * Claims some endpoints with due deliveries that no process serves. Endpoints of clients with
 * suspended deliveries are ignored.
 */
export async function claimQueues(
  connection: Connection,
  holder: string,
  filter: { failing: boolean; limit: number },
  seconds: number,
): Promise<(WebhookReference & QueueHealth)[]> {
  const due = await selectDueQueues(connection, filter)
  const claimed: (WebhookReference & QueueHealth)[] = []
  // One at a time: a lock on several rows at once could deadlock with a publisher of events.
  for (const { clientId, webhookId } of due) {
    claimed.push(...(await claimQueue(connection, { clientId, webhookId, holder, seconds })))
  }
  return claimed
}

/** The facts about an endpoint that delivery needs. */
export interface DrainedWebhook {
  /** Changes whenever there may be new work. */
  readonly arrivals: string
  readonly url: string
  /** When it got this address or was enabled again, on the clock that stops during suspensions. */
  readonly urlSince: Date
  /** The seconds by which that clock is behind. */
  readonly suspendedSeconds: number
  /** Whether its client may be notified now. */
  readonly receivesEvents: boolean
  readonly status: WebhookStatus
  readonly isDeleted: boolean
  readonly isReplaying: boolean
  /** Whether its receiver requested a pause that has not ended. */
  readonly isResting: boolean
  /** Sealed. */
  readonly secret: Uint8Array
  /** The former secrets that still sign, sealed, in hexadecimal, latest first. */
  readonly formerSecrets: readonly string[]
}

const renewLease = declare<QueueLease, DrainedWebhook>('renew_delivery_queue')

/**
 * Extends the lease of an endpoint by a number of seconds.
 * @returns null if another process has it.
 */
export const renewQueue = async (
  connection: Connection,
  { clientId, webhookId }: WebhookReference,
  holder: string,
  seconds: number,
): Promise<DrainedWebhook | null> =>
  firstRow(await renewLease(connection, { clientId, webhookId, holder, seconds }))

interface SeenQueue extends QueueHealth {
  /** The arrivals that were read before the groups. */
  readonly arrivals: string
}

type HeldQueue = WebhookReference & { readonly holder: string }

const releaseLease = declare<HeldQueue & SeenQueue>('release_delivery_queue')

/**
 * Releases an endpoint until its next group is due.
 * @returns false, and keeps it, if new work has arrived.
 */
export const releaseQueue = async (
  connection: Connection,
  { clientId, webhookId }: WebhookReference,
  holder: string,
  { arrivals, consecutiveFailures }: SeenQueue,
): Promise<boolean> => {
  const queue = { clientId, webhookId, holder, arrivals, consecutiveFailures }
  return (await releaseLease(connection, queue)).length === 1
}

const abandonLease = declare<HeldQueue & QueueHealth>('abandon_delivery_queue')

/** Releases an endpoint at once, whatever work is left. */
export const abandonQueue = async (
  connection: Connection,
  { clientId, webhookId }: WebhookReference,
  holder: string,
  { consecutiveFailures }: QueueHealth,
): Promise<void> => {
  await abandonLease(connection, { clientId, webhookId, holder, consecutiveFailures })
}

/** A pause that the receiver of an endpoint requested. */
interface Rest extends WebhookReference {
  readonly urlSince: Date
  readonly seconds: number
}

const restEndpoint = declare<Rest>('rest_delivery_queue')

/** Pauses an endpoint for a number of seconds, unless its address was changed. */
export const restQueue = async (
  connection: Connection,
  { clientId, webhookId }: WebhookReference,
  urlSince: Date,
  seconds: number,
): Promise<void> => {
  await restEndpoint(connection, { clientId, webhookId, urlSince, seconds })
}

const markDue = declare<WebhookReference>('mark_delivery_queue_due')

/** Marks an endpoint as due, so that its current or next process reads its queue again. */
export const markQueueDue = async (
  connection: Connection,
  reference: WebhookReference,
): Promise<void> => {
  await markDue(connection, reference)
}
