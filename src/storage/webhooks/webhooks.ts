import { type Connection, firstRow } from '../engine/database.ts'
import { loadStatements } from '../engine/statements.ts'

export type WebhookStatus = 'Enabled' | 'Disabled'

/**
 * Who or what disabled a webhook: its receiver by 410, attempts that failed for three days, an
 * operator, or its client.
 */
export type DisabledReason = 'receiver_gone' | 'not_delivered' | 'operator' | 'client'

/** Names one endpoint. */
export interface WebhookReference {
  readonly clientId: string
  readonly webhookId: string
}

/** What a client may set of a webhook. */
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

/** Adds a webhook under an id that is new. */
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

/** A client's webhooks after one of them, by id. */
export const listWebhookRows = (
  connection: Connection,
  clientId: string,
  afterWebhookId: string | null,
  limit: number,
): Promise<WebhookRow[]> => selectWebhooks(connection, { clientId, afterWebhookId, limit })

const selectWebhook = declare<WebhookReference, WebhookRow>('find_webhook')

/** A client's webhook, or null. */
export const findWebhook = async (
  connection: Connection,
  clientId: string,
  webhookId: string,
): Promise<WebhookRow | null> => firstRow(await selectWebhook(connection, { clientId, webhookId }))

const update = declare<WebhookReference & WebhookColumns, WebhookRow>('update_webhook')

/** Replaces what a client may set. @returns null where there is no such webhook. */
export const updateWebhookRow = async (
  connection: Connection,
  clientId: string,
  webhookId: string,
  { description, events, status, url }: WebhookColumns,
): Promise<WebhookRow | null> => {
  const webhook = { clientId, webhookId, url, events, description, status }
  return firstRow(await update(connection, webhook))
}

/** Where a webhook's events go: the same since an instant. */
interface WebhookTarget {
  readonly status: WebhookStatus
  readonly urlSince: Date
}

const lockTarget = declare<WebhookReference, WebhookTarget>('lock_webhook_target')

/** Holds a webhook and its queue until the transaction ends. */
export const lockWebhookTarget = async (
  connection: Connection,
  clientId: string,
  webhookId: string,
): Promise<WebhookTarget | null> => firstRow(await lockTarget(connection, { clientId, webhookId }))

interface Disabling extends WebhookReference {
  readonly reason: DisabledReason
}

const disable = declare<Disabling, WebhookRow>('disable_webhook')

/** Sends nothing more to an endpoint until its client enables it again. */
export const disableWebhook = async (
  connection: Connection,
  clientId: string,
  webhookId: string,
  reason: DisabledReason,
): Promise<void> => {
  await disable(connection, { clientId, webhookId, reason })
}

const markDeleted = declare<WebhookReference, WebhookRow>('delete_webhook')

/** Makes a webhook be gone. @returns whether it was there. */
export const markWebhookDeleted = async (
  connection: Connection,
  clientId: string,
  webhookId: string,
): Promise<boolean> => (await markDeleted(connection, { clientId, webhookId })).length === 1

const replay = declare<WebhookReference & { since: string }, { webhookId: string }>(
  'replay_webhook',
)

/**
 * Has everything since an instant that was not delivered queued again.
 * @returns whether it is there.
 */
export const replayWebhook = async (
  connection: Connection,
  clientId: string,
  webhookId: string,
  since: string,
): Promise<boolean> => (await replay(connection, { clientId, webhookId, since })).length === 1
