import { type Connection, type Database, firstRow } from '../engine/database.ts'
import { loadStatements } from '../engine/statements.ts'
import type { FeedPosition } from '../events/feed.ts'
import type { DeliveryTry } from './attempts.ts'
import { pingGroup } from './delivery-groups.ts'
import type { WebhookReference } from './webhooks.ts'

type DeliveryStatus = 'Pending' | 'Delivered' | 'Failed'

/** One event for one endpoint. */
export interface DeliveryRow {
  readonly position: FeedPosition
  readonly eventId: string
  /** The card's token; another text for a ping. */
  readonly groupKey: string
  readonly type: string
  readonly status: DeliveryStatus
  readonly createdAt: Date
  /** When its group is due, while it is pending. */
  readonly nextTryAt: Date | null
  readonly tries: readonly DeliveryTry[]
}

const declare = loadStatements(import.meta.url)

interface DeliveriesBefore extends WebhookReference {
  readonly before: FeedPosition
  readonly limit: number
}

const selectDeliveries = declare<DeliveriesBefore, DeliveryRow>('list_deliveries')

const afterAll = '9223372036854775807'

/** Lists an endpoint's deliveries before a position, newest first. */
export const listDeliveryRows = (
  connection: Connection,
  { clientId, webhookId }: WebhookReference,
  before: FeedPosition | null,
  limit: number,
): Promise<DeliveryRow[]> =>
  selectDeliveries(connection, { clientId, webhookId, before: before ?? afterAll, limit })

type DeliveryReference = WebhookReference & Pick<DeliveryRow, 'position'>

const requeueDelivery = declare<DeliveryReference, Pick<DeliveryRow, 'eventId'>>('resend_delivery')

/**
 * Queues a delivery again, whatever its state.
 * @returns its event's id, or null if the delivery or its event no longer exists.
 */
export const queueDelivery = async (
  connection: Connection,
  { clientId, webhookId }: WebhookReference,
  position: FeedPosition,
): Promise<string | null> =>
  firstRow(await requeueDelivery(connection, { clientId, webhookId, position }))?.eventId ?? null

interface Ping extends WebhookReference {
  readonly eventId: string
  readonly groupKey: string
}

const insertPing = declare<Ping, { isQueued: boolean }>('ping_webhook')

/**
 * Queues a ping.
 * @returns whether the webhook exists.
 */
export const queuePing = async (
  connection: Connection,
  { clientId, webhookId }: WebhookReference,
  eventId: string,
): Promise<boolean> =>
  firstRow(await insertPing(connection, { clientId, webhookId, eventId, groupKey: pingGroup }))
    ?.isQueued ?? false

const lockHead = declare<{ clientId: string }>('lock_feed_head')

const replayDeliveries = declare<WebhookReference & { limit: number }, { hasMore: boolean }>(
  'replay_deliveries',
)

/**
 * Queues the next part of a replay: every event that was not delivered, with the full number of
 * attempts, and pending retries at once.
 * @returns whether more parts follow.
 */
export const queueUndelivered = (
  database: Database,
  { clientId, webhookId }: WebhookReference,
  limit: number,
): Promise<boolean> =>
  database.transaction(async (connection) => {
    // Events that are being published now, perhaps for a webhook that was still disabled, are seen
    // here or come later.
    await lockHead(connection, { clientId })
    const replayed = await replayDeliveries(connection, { clientId, webhookId, limit })
    return firstRow(replayed)?.hasMore ?? false
  })
