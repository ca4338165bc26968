import { type Connection, firstRow } from '../engine/database.ts'
import { loadStatements } from '../engine/statements.ts'
import type { WebhookReference, WebhookStatus } from './webhooks.ts'

/** How an endpoint does, as it is handed on. */
interface QueueHealth {
  readonly consecutiveFailures: number
}

/**
 * So many failures in a row make an endpoint a failing one. The statements name the number, too.
 */
export const failingThreshold = 5

const declare = loadStatements(import.meta.url)

const selectDueQueues = declare<{ failing: boolean; limit: number }, WebhookReference>(
  'list_due_delivery_queues',
)

/** An endpoint that a process is to hold. */
interface QueueLease extends WebhookReference {
  readonly holder: string
  readonly seconds: number
}

const claimQueue = declare<QueueLease, WebhookReference & QueueHealth>('claim_delivery_queue')

/**
 * Claims some endpoints with due deliveries that no process serves. It ignores endpoints of clients
 * whose deliveries are suspended.
 */
export async function claimQueues(
  connection: Connection,
  holder: string,
  filter: { failing: boolean; limit: number },
  seconds: number,
): Promise<(WebhookReference & QueueHealth)[]> {
  const due = await selectDueQueues(connection, filter)
  const claimed: (WebhookReference & QueueHealth)[] = []
  // One at a time: whoever locked several rows at once could wait in a ring with one who publishes
  // events.
  for (const { clientId, webhookId } of due) {
    claimed.push(...(await claimQueue(connection, { clientId, webhookId, holder, seconds })))
  }
  return claimed
}

/** What a process needs to know of an endpoint to deliver to it. */
export interface DrainedWebhook {
  /** Changes whenever there may be something new to do. */
  readonly arrivals: string
  readonly url: string
  /**
   * When it got this address, or was enabled again, on the clock that stands still while it is
   * suspended.
   */
  readonly urlSince: Date
  /** How far that clock is behind. */
  readonly suspendedSeconds: number
  /** Whether its client may be notified now. */
  readonly receivesEvents: boolean
  readonly status: WebhookStatus
  readonly isDeleted: boolean
  readonly isReplaying: boolean
  /** Its receiver has said when to come back, and that is not yet. */
  readonly isResting: boolean
  /** Sealed. */
  readonly secret: Uint8Array
  /** Those before it that still sign, sealed, in hexadecimal, the latest first. */
  readonly formerSecrets: readonly string[]
}

const renewLease = declare<QueueLease, DrainedWebhook>('renew_delivery_queue')

/** Keeps an endpoint for so many seconds more. @returns null when another process has it. */
export const renewQueue = async (
  connection: Connection,
  { clientId, webhookId }: WebhookReference,
  holder: string,
  seconds: number,
): Promise<DrainedWebhook | null> =>
  firstRow(await renewLease(connection, { clientId, webhookId, holder, seconds }))

interface SeenQueue extends QueueHealth {
  /** What was seen before the groups were looked at. */
  readonly arrivals: string
}

type HeldQueue = WebhookReference & { readonly holder: string }

const releaseLease = declare<HeldQueue & SeenQueue>('release_delivery_queue')

/**
 * Lets go of an endpoint until its next group is due.
 * @returns false, and keeps it, when something came in since.
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

/** Lets another process have an endpoint at once, whatever is left to do. */
export const abandonQueue = async (
  connection: Connection,
  { clientId, webhookId }: WebhookReference,
  holder: string,
  { consecutiveFailures }: QueueHealth,
): Promise<void> => {
  await abandonLease(connection, { clientId, webhookId, holder, consecutiveFailures })
}

/** The receiver of an endpoint asks to be left alone for a while. */
interface Rest extends WebhookReference {
  readonly urlSince: Date
  readonly seconds: number
}

const restEndpoint = declare<Rest>('rest_delivery_queue')

/** Has nothing sent to an endpoint for so many seconds, unless it has another address by now. */
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
