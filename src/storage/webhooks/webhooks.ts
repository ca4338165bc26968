import { type Connection, firstRow } from '../engine/database.ts'
import { loadStatements } from '../engine/statements.ts'

export type WebhookStatus = 'Enabled' | 'Disabled'

/**
 * The reason for which a webhook was disabled: its receiver answered 410, attempts failed for three
 * days, an operator did, or its client.
 */
export type DisabledReason = 'receiver_gone' | 'not_delivered' | 'operator' | 'client'

/** Identifies one endpoint. */
export interface WebhookReference {
  readonly clientId: string
  readonly webhookId: string
}

/** The members of a webhook that its client sets. */
interface WebhookColumns {
  readonly url: string
  /** Types of events, or `*` alone. */
  readonly events: readonly string[]
  /** Sealed. */
  readonly description: Uint8Array | null
  readonly status: WebhookStatus
}

export interface WebhookRow extends WebhookColumns {
  readonly webhookId: string
  readonly createdAt: Date
  readonly disabledAt: Date | null
  readonly disabledReason: DisabledReason | null
}

const declare = loadStatements(import.meta.url)

interface NewWebhook extends WebhookColumns {
  /** Sealed. */
  readonly secret: Uint8Array
}

const insert = declare<WebhookReference & NewWebhook, WebhookRow>('insert_webhook')

/** Adds a webhook under a new id. */
export const insertWebhook = async (
  connection: Connection,
  clientId: string,
  webhookId: string,
  { description, events, secret, status, url }: NewWebhook,
): Promise<WebhookRow> => {
  const webhook = { clientId, webhookId, url, events, description, status, secret }
  const [row] = await insert(connection, webhook)
  if (!row) throw new Error('A webhook was not added.')
  return row
}

const lockClient = declare<{ clientId: string }>('lock_client_for_webhooks')
const countWebhooks = declare<{ clientId: string }, { count: number }>('count_webhooks')

/** Counts a client's webhooks and locks the count until the transaction ends. */
export const lockWebhookCount = async (
  connection: Connection,
  clientId: string,
): Promise<number> => {
  await lockClient(connection, { clientId })
  return firstRow(await countWebhooks(connection, { clientId }))?.count ?? 0
}

interface WebhooksAfter {
  readonly clientId: string
  readonly afterWebhookId: string | null
  readonly limit: number
}

const selectWebhooks = declare<WebhooksAfter, WebhookRow>('list_webhooks')

/** Lists a client's webhooks after one of them, by id. */
export const listWebhookRows = (
  connection: Connection,
  clientId: string,
  afterWebhookId: string | null,
  limit: number,
): Promise<WebhookRow[]> => selectWebhooks(connection, { clientId, afterWebhookId, limit })

const selectWebhook = declare<WebhookReference, WebhookRow>('find_webhook')

/** Returns a client's webhook, or null. */
export const findWebhook = async (
  connection: Connection,
  clientId: string,
  webhookId: string,
): Promise<WebhookRow | null> => firstRow(await selectWebhook(connection, { clientId, webhookId }))

const update = declare<WebhookReference & WebhookColumns, WebhookRow>('update_webhook')

/**
 * Replaces the client's settings.
 * @returns null if the webhook does not exist.
 */
export const updateWebhookRow = async (
  connection: Connection,
  clientId: string,
  webhookId: string,
  { description, events, status, url }: WebhookColumns,
): Promise<WebhookRow | null> => {
  const webhook = { clientId, webhookId, url, events, description, status }
  return firstRow(await update(connection, webhook))
}

/** The address of a webhook, unchanged since an instant. */
interface WebhookTarget {
  readonly status: WebhookStatus
  readonly urlSince: Date
}

const lockTarget = declare<WebhookReference, WebhookTarget>('lock_webhook_target')

/** Locks a webhook and its queue until the transaction ends. */
export const lockWebhookTarget = async (
  connection: Connection,
  clientId: string,
  webhookId: string,
): Promise<WebhookTarget | null> => firstRow(await lockTarget(connection, { clientId, webhookId }))

interface Disabling extends WebhookReference {
  readonly reason: DisabledReason
}

const disable = declare<Disabling, WebhookRow>('disable_webhook')

/** Disables an endpoint until its client enables it again. */
export const disableWebhook = async (
  connection: Connection,
  clientId: string,
  webhookId: string,
  reason: DisabledReason,
): Promise<void> => {
  await disable(connection, { clientId, webhookId, reason })
}

const markDeleted = declare<WebhookReference, WebhookRow>('delete_webhook')

/**
 * Marks a webhook as deleted.
 * @returns whether it existed.
 */
export const markWebhookDeleted = async (
  connection: Connection,
  clientId: string,
  webhookId: string,
): Promise<boolean> => (await markDeleted(connection, { clientId, webhookId })).length === 1

const replay = declare<WebhookReference & { since: string }, { webhookId: string }>(
  'replay_webhook',
)

/**
 * Requests a replay of every event since an instant that was not delivered.
 * @returns whether the webhook exists.
 */
export const replayWebhook = async (
  connection: Connection,
  clientId: string,
  webhookId: string,
  since: string,
): Promise<boolean> => (await replay(connection, { clientId, webhookId, since })).length === 1
