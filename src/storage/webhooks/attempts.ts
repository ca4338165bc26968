import type { Connection } from '../engine/database.ts'
import { loadStatements } from '../engine/statements.ts'
import type { FeedPosition } from '../events/feed.ts'
import { deleteIdleDeliveryGroups } from './delivery-groups.ts'
import type { WebhookReference } from './webhooks.ts'

/** A recorded delivery attempt. */
export interface DeliveryTry {
  readonly at: string
  readonly durationMs: number
  /** `delivered`, or the reason in one word. */
  readonly outcome: string
  readonly statusCode?: number
  /** The first bytes of a text or JSON answer. */
  readonly response?: string
}

/** The result of an attempt, and when its group is due again. */
export interface TriedDelivery {
  readonly position: FeedPosition
  readonly groupKey: string
  /** The values at the attempt: together they show whether it was queued again since. */
  readonly round: number
  readonly failures: number
  /** `Pending`: another attempt follows. */
  readonly status: 'Pending' | 'Delivered' | 'Failed'
  readonly dueInSeconds: number
  readonly try: DeliveryTry
}

/** Ten times the attempts of three days: a stored delivery can be sent again. */
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
 * Records delivery attempts, at most one per group.
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
