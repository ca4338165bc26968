import type { Connection } from '../engine/database.ts'
import { loadStatements } from '../engine/statements.ts'
import type { FeedPosition } from '../events/feed.ts'
import type { WebhookReference } from './webhooks.ts'

/** The group of pings, which belong to no card. */
export const pingGroup = 'ping'

/** The next event of a group for an endpoint. */
export interface DueDelivery {
  readonly groupKey: string
  readonly position: FeedPosition
  readonly eventId: string
  readonly type: string
  /** Raised whenever it is queued again. */
  readonly round: number
  /** The failed attempts since it was queued or sent again. */
  readonly failures: number
  readonly firstTriedAt: Date | null
  readonly createdAt: Date
  /** Null for a ping, which is in no feed; so are the next two members. */
  readonly sequence: number | null
  readonly occurredAt: Date | null
  readonly details: string | null
}

const declare = loadStatements(import.meta.url)

interface DueFilter extends WebhookReference {
  readonly busyGroups: readonly string[]
  readonly limit: number
}

const selectDueDeliveries = declare<DueFilter, DueDelivery>('list_due_deliveries')

/** Lists the first pending delivery of each due group, except busy groups. */
export const listDueDeliveries = (
  connection: Connection,
  { clientId, webhookId }: WebhookReference,
  busyGroups: readonly string[],
  limit: number,
): Promise<DueDelivery[]> =>
  selectDueDeliveries(connection, { clientId, webhookId, busyGroups, limit })

const deleteIdleGroups = declare<WebhookReference & { groupKeys: readonly string[] }>(
  'drop_idle_delivery_groups',
)

/** Deletes the groups that still have no pending deliveries. */
export async function deleteIdleDeliveryGroups(
  connection: Connection,
  { clientId, webhookId }: WebhookReference,
  groups: readonly { readonly groupKey: string; readonly pending: number }[],
): Promise<void> {
  const groupKeys = groups.filter(({ pending }) => pending === 0).map(({ groupKey }) => groupKey)
  if (groupKeys.length > 0) await deleteIdleGroups(connection, { clientId, webhookId, groupKeys })
}

interface PendingFilter extends WebhookReference {
  readonly keptGroup: string | null
  readonly limit: number
}

const updatePending = declare<PendingFilter, { groupKey: string; pending: number }>(
  'fail_pending_deliveries',
)

/**
 * Gives up some of the pending deliveries of an endpoint.
 * @param keptGroup is not changed.
 * @returns whether there were any.
 */
export async function failPending(
  connection: Connection,
  reference: WebhookReference,
  keptGroup: string | null,
  limit: number,
): Promise<boolean> {
  const { clientId, webhookId } = reference
  const groups = await updatePending(connection, { clientId, webhookId, keptGroup, limit })
  await deleteIdleDeliveryGroups(connection, reference, groups)
  return groups.length > 0
}
