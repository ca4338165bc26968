import { randomBytes, randomUUID } from 'node:crypto'
import type { Requester } from '../../domain/client.ts'
import { Problem, validationFailed } from '../../domain/problem.ts'
import { encodeWebhookSecret, type WebhookSecret } from '../../domain/webhook-secret.ts'
import type { Hsm } from '../../hsm/contract/hsm.ts'
import type { Connection, Database } from '../../storage/engine/database.ts'
import { queuePing } from '../../storage/webhooks/deliveries.ts'
import { replaceWebhookSecret } from '../../storage/webhooks/secrets.ts'
import * as storedWebhooks from '../../storage/webhooks/webhooks.ts'
import { type Answer, once, type RepeatableRequest } from '../idempotency/idempotency.ts'

/** The dependencies of the operations on webhooks. */
export interface WebhookContext {
  readonly database: Database
  readonly hsm: Hsm
}

/** The members of a webhook that a client sets. */
interface WebhookSettings {
  readonly url: string
  /** Types of events, or `*` alone. */
  readonly events: readonly string[]
  readonly description?: string
  readonly status?: storedWebhooks.WebhookStatus
}

/** A webhook as its client sees it, without its secret. */
interface WebhookRecord {
  readonly webhookId: string
  readonly url: string
  readonly events: readonly string[]
  readonly description?: string
  readonly status: storedWebhooks.WebhookStatus
  readonly createdAt: string
  readonly disabledAt?: string
  readonly disabledReason?: storedWebhooks.DisabledReason
}

/** The maximum number of webhooks of a client. */
const webhooksMax = 20

/** A webhook and, in the first answer only, its secret. */
interface CreatedWebhook extends WebhookRecord {
  readonly secret?: WebhookSecret
}

/**
 * Adds a webhook. Only this answer shows its secret: a repeat of the request returns the webhook
 * without it.
 * @throws `Problem` `validation_failed` if the client has the maximum number.
 */
export async function createWebhook(
  context: WebhookContext,
  { clientId }: Requester,
  settings: WebhookSettings,
  request: RepeatableRequest | null,
): Promise<Answer<CreatedWebhook>> {
  const { hsm } = context
  const secret = generateWebhookSecret()
  const webhookId = randomUUID()
  const stored = {
    ...(await sealSettings(hsm, webhookId, settings)),
    secret: await hsm.sealRecord('webhook-secret', webhookId, secret.reveal()),
  }
  const { replayed, result } = await once(context, request, async (connection) => {
    if ((await storedWebhooks.lockWebhookCount(connection, clientId)) >= webhooksMax) {
      throw validationFailed({
        pointer: '',
        detail: `exceeds the limit of ${webhooksMax} webhooks`,
      })
    }
    const row = await storedWebhooks.insertWebhook(connection, clientId, webhookId, stored)
    return composeRecord(row, settings.description)
  })
  return { replayed, result: replayed ? result : { ...result, secret } }
}

/**
 * Returns the requester's webhook.
 * @throws `Problem` `not_found`.
 */
export const findWebhookRecord = async (
  { database, hsm }: WebhookContext,
  requester: Requester,
  webhookId: string,
): Promise<WebhookRecord> =>
  revealWebhook(hsm, await findOwnWebhook(database, requester, webhookId))

/** Lists a page of the requester's webhooks after one of them, by id. */
export async function listWebhooks(
  { database, hsm }: WebhookContext,
  { clientId }: Requester,
  afterWebhookId: string | null,
  limit: number,
): Promise<WebhookRecord[]> {
  const rows = await storedWebhooks.listWebhookRows(database, clientId, afterWebhookId, limit)
  return Promise.all(rows.map((row) => revealWebhook(hsm, row)))
}

/** A webhook, and its new settings. */
interface WebhookUpdate {
  readonly webhookId: string
  readonly settings: WebhookSettings
}

/**
 * Replaces the settings of a webhook. Absent members get their default: enabled, and without a
 * description. Disabling it gives up pending deliveries.
 * @throws `Problem` `not_found`.
 */
export async function updateWebhook(
  context: WebhookContext,
  { clientId }: Requester,
  { settings, webhookId }: WebhookUpdate,
  request: RepeatableRequest | null,
): Promise<Answer<WebhookRecord>> {
  const stored = await sealSettings(context.hsm, webhookId, settings)
  return once(context, request, async (connection) => {
    const row = await storedWebhooks.updateWebhookRow(connection, clientId, webhookId, stored)
    if (!row) throw new Problem('not_found')
    return composeRecord(row, settings.description)
  })
}

/**
 * Deletes the requester's webhook and gives up its pending deliveries.
 * @throws `Problem` `not_found`.
 */
export async function deleteWebhook(
  { database }: WebhookContext,
  { clientId }: Requester,
  webhookId: string,
): Promise<void> {
  if (!(await storedWebhooks.markWebhookDeleted(database, clientId, webhookId)))
    throw new Problem('not_found')
}

/** The maximum number of former secrets that also sign, each for 24 hours. */
const formerMax = 5

/** A webhook's id and, in the first answer only, its new secret. */
interface RotatedSecret {
  readonly webhookId: string
  readonly secret?: WebhookSecret
}

/**
 * Gives a webhook another secret. The previous one also signs for 24 hours, so that receivers can
 * switch. A repeat of the request changes nothing and does not show the secret.
 * @throws `Problem` `not_found`; `rate_limited` if the maximum number of secrets sign already.
 */
export async function rotateWebhookSecret(
  context: WebhookContext,
  { clientId }: Requester,
  webhookId: string,
  request: RepeatableRequest | null,
): Promise<Answer<RotatedSecret>> {
  const secret = generateWebhookSecret()
  const sealed = await context.hsm.sealRecord('webhook-secret', webhookId, secret.reveal())
  const { replayed } = await once(context, request, async (connection) => {
    const waitSeconds = await replaceWebhookSecret(connection, clientId, webhookId, {
      secret: sealed,
      formerMax,
    })
    if (waitSeconds === null) throw new Problem('not_found')
    if (waitSeconds > 0) {
      throw new Problem('rate_limited', {
        detail: `The limit of ${formerMax} rotations of a secret in 24 hours is reached.`,
        retryAfterSeconds: waitSeconds,
      })
    }
    return null
  })
  return { replayed, result: replayed ? { webhookId } : { webhookId, secret } }
}

/**
 * Sends a ping to a webhook, once, even if it is disabled, so that its client can test it. Its
 * deliveries show the result.
 * @returns the `webhook-id` of the ping.
 * @throws `Problem` `not_found`.
 */
export const pingWebhook = (
  context: WebhookContext,
  { clientId }: Requester,
  webhookId: string,
  request: RepeatableRequest | null,
): Promise<Answer<{ eventId: string }>> =>
  once(context, request, async (connection) => {
    const eventId = randomUUID()
    if (!(await queuePing(connection, { clientId, webhookId }, eventId))) {
      throw new Problem('not_found')
    }
    return { eventId }
  })

/**
 * Converts a client's settings to their stored form. Called before a transaction: the HSM may have
 * to read its keys, and so need the connection.
 */
const sealSettings = async (
  hsm: Hsm,
  webhookId: string,
  { description, events, status, url }: WebhookSettings,
) => ({
  url,
  events,
  description:
    description === undefined ? null : await hsm.sealRecord('note', webhookId, description),
  status: status ?? ('Enabled' as const),
})

async function revealWebhook(hsm: Hsm, row: storedWebhooks.WebhookRow): Promise<WebhookRecord> {
  const { description, webhookId } = row
  return composeRecord(
    row,
    description ? await hsm.revealRecord('note', webhookId, description) : undefined,
  )
}

function composeRecord(
  { createdAt, description: _, disabledAt, disabledReason, ...members }: storedWebhooks.WebhookRow,
  description: string | undefined,
): WebhookRecord {
  return {
    ...members,
    ...(description !== undefined && { description }),
    createdAt: createdAt.toISOString(),
    ...(disabledAt && { disabledAt: disabledAt.toISOString() }),
    ...(disabledReason && { disabledReason }),
  }
}

/** Generates a signing secret (Standard Webhooks: 32 random bytes in base64). */
const generateWebhookSecret = (): WebhookSecret => encodeWebhookSecret(randomBytes(32))

/**
 * Returns the requester's webhook.
 * @throws `Problem` `not_found`, also for another client's webhook.
 */
export async function findOwnWebhook(
  connection: Connection,
  { clientId }: Requester,
  webhookId: string,
): Promise<storedWebhooks.WebhookRow> {
  const row = await storedWebhooks.findWebhook(connection, clientId, webhookId)
  if (!row) throw new Problem('not_found')
  return row
}

/** @throws `Problem` `validation_failed` for a disabled webhook, which gets no deliveries. */
export function refuseDisabled({ status }: storedWebhooks.WebhookRow): void {
  if (status === 'Enabled') return
  throw validationFailed({ pointer: '', detail: 'requires a webhook with the status Enabled' })
}
