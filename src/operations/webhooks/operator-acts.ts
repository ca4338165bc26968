import type { Requester } from '../../domain/client.ts'
import { Problem } from '../../domain/problem.ts'
import { insertAct } from '../../storage/acts/acts.ts'
import type { Connection } from '../../storage/engine/database.ts'
import { listActorNames } from '../../storage/people/actor-names.ts'
import type { DeliveryTry } from '../../storage/webhooks/attempts.ts'
import { queueDelivery } from '../../storage/webhooks/deliveries.ts'
import {
  type FailingWebhookRow,
  findWatchedWebhook,
  listFailingWebhooks,
  listWatchedWebhookRows,
  measureWebhooks,
  type WatchedFilter,
  type WatchedWebhookRow,
  type WebhookResultsRow,
} from '../../storage/webhooks/watched-webhooks.ts'
import { disableWebhook, replayWebhook, updateWebhookRow } from '../../storage/webhooks/webhooks.ts'
import { type Answer, once, type RepeatableRequest } from '../idempotency/idempotency.ts'
import { deliveryNotFound } from './deliveries.ts'
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
  /** Null if it is not known. */
  readonly clientName: string | null
  readonly createdAt: string
  readonly disabledAt: string | null
  readonly dueAt: string | null
  /** The deliveries of the last day's events. */
  readonly lastDay: WebhookResults
}

interface WebhookResults
  extends Pick<WebhookResultsRow, 'delivered' | 'retrying' | 'waiting' | 'failed'> {
  /** The newest delivery that failed or is retried; null without one. */
  readonly lastFailure:
    | ({ readonly deliveryId: string; readonly type: string } & Pick<
        DeliveryTry,
        'at' | 'outcome' | 'statusCode'
      >)
    | null
}

/** Lists the webhooks of all clients, or of one. */
export const listWatchedWebhooks = async (
  { database }: Pick<WebhookContext, 'database'>,
  filter: WatchedFilter,
): Promise<WatchedWebhook[]> =>
  describeWebhooks(database, await listWatchedWebhookRows(database, filter))

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
  const [webhook] = await describeWebhooks(database, [row])
  if (!webhook) throw new Problem('not_found')
  return webhook
}

/** How many deliveries of a webhook are counted, its newest ones. */
const measuredMost = 1_000

/** Adds to webhooks the names of their clients, and the results of the last day. */
async function describeWebhooks(
  database: Connection,
  rows: readonly WatchedWebhookRow[],
): Promise<WatchedWebhook[]> {
  const byClient = Map.groupBy(rows, ({ clientId }) => clientId)
  const [names, ...results] = await Promise.all([
    listActorNames(database, [...byClient.keys()]),
    // Of one client at a time: the rows of a client are on one node.
    ...[...byClient].map(([clientId, own]) =>
      measureWebhooks(
        database,
        clientId,
        own.map(({ webhookId }) => webhookId),
        measuredMost,
      ),
    ),
  ])
  const found = new Map(results.flat().map((each) => [each.webhookId, each]))
  return rows.map((row) =>
    watchedWebhook(row, names.get(row.clientId) ?? null, found.get(row.webhookId)),
  )
}

/** The maximum number of webhooks that are read; more are reported as this number or more. */
const failingMost = 1_000

/**
 * Lists the enabled webhooks of all clients that fail: first those that have failed for long, by
 * their consecutive failures.
 */
export const listFailingEndpoints = ({
  database,
}: Pick<WebhookContext, 'database'>): Promise<FailingWebhookRow[]> =>
  listFailingWebhooks(database, failingMost)

const watchedWebhook = (
  { createdAt, description: _, disabledAt, dueAt, ...row }: WatchedWebhookRow,
  clientName: string | null,
  results: WebhookResultsRow | undefined,
): WatchedWebhook => ({
  ...row,
  clientName,
  createdAt: createdAt.toISOString(),
  disabledAt: disabledAt?.toISOString() ?? null,
  dueAt: dueAt?.toISOString() ?? null,
  lastDay: describeResults(results),
})

const describeResults = (results: WebhookResultsRow | undefined): WebhookResults => ({
  delivered: results?.delivered ?? 0,
  retrying: results?.retrying ?? 0,
  waiting: results?.waiting ?? 0,
  failed: results?.failed ?? 0,
  lastFailure: results ? describeFailure(results) : null,
})

function describeFailure({
  failedPosition,
  failedTry,
  failedType,
}: WebhookResultsRow): WebhookResults['lastFailure'] {
  if (failedPosition === null || failedType === null || failedTry === null) return null
  const { at, outcome, statusCode } = failedTry
  return {
    deliveryId: failedPosition,
    type: failedType,
    at,
    outcome,
    ...(statusCode !== undefined && { statusCode }),
  }
}

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
    if (eventId === null) throw deliveryNotFound()
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
