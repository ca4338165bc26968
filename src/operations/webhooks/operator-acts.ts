import type { Requester } from '../../domain/client.ts'
import { Problem } from '../../domain/problem.ts'
import { insertAct } from '../../storage/acts/acts.ts'
import type { Connection } from '../../storage/engine/database.ts'
import { queueDelivery } from '../../storage/webhooks/deliveries.ts'
import {
  type FailingWebhookRow,
  findWatchedWebhook,
  listFailingWebhooks,
  listWatchedWebhookRows,
  type WatchedFilter,
  type WatchedWebhookRow,
} from '../../storage/webhooks/watched-webhooks.ts'
import { disableWebhook, replayWebhook, updateWebhookRow } from '../../storage/webhooks/webhooks.ts'
import { type Answer, once, type RepeatableRequest } from '../idempotency/idempotency.ts'
import { findOwnWebhook, refuseDisabled, type WebhookContext } from './webhooks.ts'

/**
 * A webhook of any client, and how it gets on. Neither its secret nor its description is part of
 * it.
 */
export interface WatchedWebhook
  extends Pick<
    WatchedWebhookRow,
    | 'clientId'
    | 'webhookId'
    | 'url'
    | 'events'
    | 'status'
    | 'disabledReason'
    | 'consecutiveFailures'
    | 'failing'
  > {
  readonly createdAt: string
  readonly disabledAt: string | null
  readonly dueAt: string | null
}

/** Webhooks of every client, or of one. */
export const listWatchedWebhooks = async (
  { database }: Pick<WebhookContext, 'database'>,
  filter: WatchedFilter,
): Promise<WatchedWebhook[]> => (await listWatchedWebhookRows(database, filter)).map(watchedWebhook)

/** A webhook of any client. @throws `Problem` `not_found`. */
export async function findWebhookOfClient(
  { database }: Pick<WebhookContext, 'database'>,
  { clientId, webhookId }: WebhookNames,
): Promise<WatchedWebhook> {
  const row = await findWatchedWebhook(database, clientId, webhookId)
  if (!row) throw new Problem('not_found')
  return watchedWebhook(row)
}

/** Webhooks that are looked at: of more, the number is said as so many or more. */
const failingMost = 1_000

/** The enabled webhooks of all clients that fail, the one with the most failures in a row first. */
export const listFailingEndpoints = ({
  database,
}: Pick<WebhookContext, 'database'>): Promise<FailingWebhookRow[]> =>
  listFailingWebhooks(database, failingMost)

const watchedWebhook = ({
  createdAt,
  description: _,
  disabledAt,
  dueAt,
  ...row
}: WatchedWebhookRow): WatchedWebhook => ({
  ...row,
  createdAt: createdAt.toISOString(),
  disabledAt: disabledAt?.toISOString() ?? null,
  dueAt: dueAt?.toISOString() ?? null,
})

/** A webhook, by the client whose it is. */
export interface WebhookNames {
  readonly clientId: string
  readonly webhookId: string
}

/** What an operator does to a client's webhook, and why. */
interface OperatorAct extends WebhookNames {
  readonly reason: string
}

/**
 * Sends a delivery of a client again, at an operator's word. The act is on record beside it.
 * @throws `Problem` `not_found` for a delivery, or an event, that is not kept; `validation_failed`.
 */
export const resendAsOperator = (
  context: WebhookContext,
  operator: Requester,
  { deliveryId, ...act }: OperatorAct & { readonly deliveryId: string },
  request: RepeatableRequest | null,
): Promise<Answer<{ eventId: string }>> =>
  once(context, request, async (connection) => {
    refuseDisabled(await findNamedWebhook(connection, operator, act))
    const eventId = await queueDelivery(connection, act, deliveryId)
    if (eventId === null) throw new Problem('not_found')
    await record(connection, operator, act, { act: 'delivery_resent', details: { eventId } })
    return { eventId }
  })

/**
 * Has everything since an instant delivered that a client's webhook did not get, at an operator's
 * word.
 * @throws `Problem` `not_found`; `validation_failed` for a webhook that is disabled.
 */
export const replayAsOperator = (
  context: WebhookContext,
  operator: Requester,
  { since, ...act }: OperatorAct & { readonly since: string },
  request: RepeatableRequest | null,
): Promise<Answer<{ since: string }>> =>
  once(context, request, async (connection) => {
    refuseDisabled(await findNamedWebhook(connection, operator, act))
    await replayWebhook(connection, act.clientId, act.webhookId, since)
    await record(connection, operator, act, { act: 'webhook_replayed', details: { since } })
    return { since }
  })

/**
 * Sends nothing more to a client's webhook, or lets it be sent to again. The client can change it
 * back.
 * @throws `Problem` `not_found`.
 */
export const switchAsOperator = (
  context: WebhookContext,
  operator: Requester,
  { status, ...act }: OperatorAct & { readonly status: 'Enabled' | 'Disabled' },
  request: RepeatableRequest | null,
): Promise<Answer<null>> =>
  once(context, request, async (connection) => {
    const { clientId, webhookId } = act
    const webhook = await findNamedWebhook(connection, operator, act)
    if (webhook.status === status) return null
    if (status === 'Disabled') await disableWebhook(connection, clientId, webhookId, 'operator')
    else await updateWebhookRow(connection, clientId, webhookId, { ...webhook, status })
    const name = status === 'Disabled' ? 'webhook_disabled' : 'webhook_enabled'
    await record(connection, operator, act, { act: name, details: {} })
    return null
  })

const findNamedWebhook = (
  connection: Connection,
  { requestId }: Requester,
  { clientId, webhookId }: WebhookNames,
) => findOwnWebhook(connection, { clientId, requestId }, webhookId)

async function record(
  connection: Connection,
  operator: Requester,
  { clientId, reason, webhookId }: OperatorAct,
  { act, details }: { readonly act: string; readonly details: object },
): Promise<void> {
  await insertAct(connection, {
    act,
    subjectKind: 'client',
    subject: clientId,
    details: JSON.stringify({ webhookId, reason, ...details }),
    ...operator,
  })
}
