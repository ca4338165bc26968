import { type Connection, firstRow } from '../engine/database.ts'
import { loadStatements } from '../engine/statements.ts'
import type { DeliveryTry } from './attempts.ts'
import type { WebhookReference, WebhookRow } from './webhooks.ts'

/** A webhook with its health, for operators. */
export interface WatchedWebhookRow extends WebhookRow {
  readonly clientId: string
  readonly consecutiveFailures: number
  readonly failing: boolean
  /** When the next delivery is due; null without one. */
  readonly dueAt: Date | null
}

const declare = loadStatements(import.meta.url)

/** Selects webhooks after one of them, by client and id. */
export interface WatchedFilter {
  /** Null for all clients. */
  readonly clientId: string | null
  readonly after: { readonly clientId: string; readonly webhookId: string } | null
  readonly limit: number
}

interface WatchedAfter {
  readonly afterWebhookId: string
  readonly limit: number
}

const selectWatched = declare<WatchedAfter & { afterClientId: string }, WatchedWebhookRow>(
  'list_watched_webhooks',
)
const selectWatchedByClient = declare<WatchedAfter & { clientId: string }, WatchedWebhookRow>(
  'list_watched_webhooks_of_client',
)

const firstId = '00000000-0000-0000-0000-000000000000'

export const listWatchedWebhookRows = (
  connection: Connection,
  { after, clientId, limit }: WatchedFilter,
): Promise<WatchedWebhookRow[]> => {
  const afterWebhookId = after?.webhookId ?? firstId
  if (clientId !== null)
    return selectWatchedByClient(connection, { clientId, afterWebhookId, limit })
  const afterClientId = after?.clientId ?? ''
  return selectWatched(connection, { afterClientId, afterWebhookId, limit })
}

const selectWatchedWebhook = declare<WebhookReference, WatchedWebhookRow>('find_watched_webhook')

export const findWatchedWebhook = async (
  connection: Connection,
  clientId: string,
  webhookId: string,
): Promise<WatchedWebhookRow | null> =>
  firstRow(await selectWatchedWebhook(connection, { clientId, webhookId }))

/** The deliveries of the last day's events to a webhook, and the newest failure. */
export interface WebhookResultsRow {
  readonly webhookId: string
  readonly delivered: number
  readonly retrying: number
  readonly waiting: number
  readonly failed: number
  readonly failedPosition: string | null
  readonly failedType: string | null
  readonly failedTry: DeliveryTry | null
}

const selectResults = declare<
  { clientId: string; webhookIds: readonly string[]; limit: number },
  WebhookResultsRow
>('measure_webhooks')

/** Counts the deliveries of the last day to webhooks of a client, among the newest of each. */
export const measureWebhooks = (
  connection: Connection,
  clientId: string,
  webhookIds: readonly string[],
  limit: number,
): Promise<WebhookResultsRow[]> => selectResults(connection, { clientId, webhookIds, limit })

/** An enabled webhook whose newest deliveries failed, five times in a row or more. */
export interface FailingWebhookRow {
  readonly clientId: string
  readonly webhookId: string
  readonly consecutiveFailures: number
  /** Whether it has failed 20 times in a row, or for 10 minutes. */
  readonly isLong: boolean
}

const selectFailing = declare<{ limit: number }, FailingWebhookRow>('list_failing_webhooks')

/**
 * Lists the enabled webhooks of all clients that fail: first those that have failed for long, by
 * their consecutive failures.
 */
export const listFailingWebhooks = (
  connection: Connection,
  limit: number,
): Promise<FailingWebhookRow[]> => selectFailing(connection, { limit })
