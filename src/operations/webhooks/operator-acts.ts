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
 * A webhook of any client, with the state of its deliveries, without its secret and description.
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

/** Lists the webhooks of all clients, or of one. */
export const listWatchedWebhooks = async (
  { database }: Pick<WebhookContext, 'database'>,
  filter: WatchedFilter,
): Promise<WatchedWebhook[]> => (await listWatchedWebhookRows(database, filter)).map(watchedWebhook)

/**
 * Returns a webhook of any client.
 * @throws `Problem` `not_found`.
 */
export async function findWebhookOfClient(
  { database }: Pick<WebhookContext, 'database'>,
  { clientId, webhookId }: WebhookNames,
): Promise<WatchedWebhook> {
  const row = await findWatchedWebhook(database, clientId, webhookId)
  if (!row) throw new Problem('not_found')
  return watchedWebhook(row)
}

/** The maximum number of webhooks that are read; more are reported as this number or more. */
const failingMost = 1_000

/**
 * Lists the enabled webhooks of all clients that fail, the one with the most consecutive failures
 * first.
 */
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

/** Identifies a webhook by its client and its id. */
export interface WebhookNames {
  readonly clientId: string
  readonly webhookId: string
}

/** An operator's act on a client's webhook, and the reason. */
interface OperatorAct extends WebhookNames {
  readonly reason: string
}

/**
 * Sends a client's delivery again at an operator's request. The act is recorded with it.
 * @throws `Problem` `not_found` for a delivery or an event that is not stored; `validation_failed`.
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
 * Queues every event since an instant that a client's webhook did not get, at an operator's
 * request.
 * @throws `Problem` `not_found`; `validation_failed` for a disabled webhook.
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
 * Disables or enables a client's webhook. The client can reverse it.
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
