import type { Connection } from '../engine/database.ts'
import { loadStatements } from '../engine/statements.ts'
import type { FeedPosition } from '../events/feed.ts'
import { deleteIdleDeliveryGroups } from './delivery-groups.ts'
import type { WebhookReference } from './webhooks.ts'

/** One try of a delivery, as it stays on record. */
export interface DeliveryTry {
  readonly at: string
  readonly durationMs: number
  /** `delivered`, or in a word why not. */
  readonly outcome: string
  readonly statusCode?: number
  /** The first bytes of a text or JSON answer. */
  readonly response?: string
}

/** What became of a try, and when its group is due again. */
export interface TriedDelivery {
  readonly position: FeedPosition
  readonly groupKey: string
  /** As they were when it was tried: the two show whether it was queued anew since. */
  readonly round: number
  readonly failures: number
  /** `Pending`: it is to be tried again. */
  readonly status: 'Pending' | 'Delivered' | 'Failed'
  readonly dueInSeconds: number
  readonly try: DeliveryTry
}

/** Ten times three days of tries: a delivery may be sent again for as long as it is kept. */
const triesMax = 300

interface RecordedTry {
  readonly groupKey: string
  readonly pending: number
  readonly position: FeedPosition
  readonly decides: boolean
}

interface TriesToRecord extends WebhookReference {
  /** A list of {@link TriedDelivery}, as JSON. */
  readonly tries: string
  readonly triesMax: number
}

const declare = loadStatements(import.meta.url)

const updateTried = declare<TriesToRecord, RecordedTry>('record_delivery_tries')

/**
 * Records delivery attempts, at most one a group.
 * @returns the deliveries that the attempts decided. The others were queued again or given up
 *   meanwhile.
 */
export async function recordTries(
  connection: Connection,
  reference: WebhookReference,
  tries: readonly TriedDelivery[],
): Promise<ReadonlySet<FeedPosition>> {
  const recorded = await updateTried(connection, {
    clientId: reference.clientId,
    webhookId: reference.webhookId,
    tries: JSON.stringify(tries),
    triesMax,
  })
  await deleteIdleDeliveryGroups(connection, reference, recorded)
  return new Set(recorded.filter(({ decides }) => decides).map(({ position }) => position))
}
