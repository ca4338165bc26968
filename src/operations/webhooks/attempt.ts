import type { WebhookSecret } from '../../domain/webhook-secret.ts'
import type { TriedDelivery } from '../../storage/webhooks/attempts.ts'
import { type DueDelivery, pingGroup } from '../../storage/webhooks/delivery-groups.ts'
import type { DrainedWebhook } from '../../storage/webhooks/queues.ts'
import type { WebhookReference } from '../../storage/webhooks/webhooks.ts'
import type { DeliveryContext } from './delivery-context.ts'
import type { PostOutcome } from './post.ts'
import { backOffSeconds, isGivenUp, longestWaitSeconds } from './retry-schedule.ts'

/** The values shared by all deliveries of an endpoint at a time. */
export interface Target
  extends WebhookReference,
    Pick<DrainedWebhook, 'url' | 'urlSince' | 'suspendedSeconds' | 'status'> {
  /** The present secret first. */
  readonly secrets: readonly WebhookSecret[]
}

/** The result of a delivery attempt, and whether it was the last at this address. */
export interface TryResult {
  readonly tried: TriedDelivery
  readonly isGivenUp: boolean
  /** Whether the receiver answered that it wants no more messages. */
  readonly isGone: boolean
  /** The pause that the receiver requests, in seconds; 0 without a request. */
  readonly restSeconds: number
  /** The start of the address that the attempt was sent to. */
  readonly urlSince: Date
}

/** The event was deleted when the delivery was requested again. */
const notKept: PostOutcome = { outcome: 'event_not_kept' }

/**
 * Attempts one delivery.
 * @returns null if it was stopped and its result is unknown.
 */
export async function tryDelivery(
  { observe, post }: DeliveryContext,
  target: Target,
  due: DueDelivery,
  stop: AbortSignal,
): Promise<TryResult | null> {
  const startedAt = new Date()
  const startedMs = performance.now()
  const { secrets, url, urlSince, webhookId } = target
  const body = composeBody(due, webhookId)
  const outcome =
    body === null
      ? notKept
      : await post(url, signedHeaders(due.eventId, body, secrets, startedAt), body, stop)
  if (outcome === null) return null
  const durationMs = Math.round(performance.now() - startedMs)
  const sinceMs = Date.now() - (due.occurredAt ?? due.createdAt).getTime()
  const isDelivered = outcome.outcome === 'delivered'
  observe.tried(outcome.outcome, isDelivered ? Math.max(0, sinceMs) / 1_000 : null)
  const { failures, groupKey, position, round } = due
  const { retryAfterSeconds = 0, ...said } = outcome
  const record = { at: startedAt.toISOString(), durationMs, ...said }
  const step = nextStep(target, due, outcome, startedAt)
  return {
    tried: { groupKey, position, round, failures, try: record, ...step },
    isGivenUp: step.status === 'Failed' && outcome !== notKept && groupKey !== pingGroup,
    isGone: isGone(outcome),
    restSeconds: Math.min(retryAfterSeconds, longestWaitSeconds),
    urlSince,
  }
}

/** A ping is attempted once: it tests whether the endpoint answers now. */
function nextStep(
  { suspendedSeconds, urlSince }: Target,
  { failures, firstTriedAt, groupKey }: DueDelivery,
  outcome: PostOutcome,
  now: Date,
): Pick<TriedDelivery, 'status' | 'dueInSeconds'> {
  if (outcome.outcome === 'delivered') return { status: 'Delivered', dueInSeconds: 0 }
  const counted = new Date(now.getTime() - suspendedSeconds * 1_000)
  const isOver = isGivenUp(firstTriedAt, urlSince, counted)
  const isLast = groupKey === pingGroup || outcome === notKept || isOver || isGone(outcome)
  if (isLast) return { status: 'Failed', dueInSeconds: 0 }
  const backOff = backOffSeconds(failures + 1, Math.random())
  const asked = Math.min(outcome.retryAfterSeconds ?? 0, longestWaitSeconds)
  return { status: 'Pending', dueInSeconds: Math.max(backOff, asked) }
}

/**
 * Whether the receiver wants no more messages (Standard Webhooks 1.0.0, “Removing disabled
 * endpoints”).
 */
const isGone = ({ statusCode }: PostOutcome): boolean => statusCode === 410

/**
 * Composes the body of an event, which is the same at every attempt (Standard Webhooks, “Payload”).
 * @returns null for a deleted event, whose content is unknown.
 */
function composeBody(
  { createdAt, details, groupKey, occurredAt, sequence, type }: DueDelivery,
  webhookId: string,
): string | null {
  const isPing = groupKey === pingGroup
  if (!isPing && details === null) return null
  const data = isPing
    ? { webhookId }
    : { publicToken: groupKey, sequence, ...JSON.parse(details ?? '{}') }
  return JSON.stringify({ type, timestamp: (occurredAt ?? createdAt).toISOString(), data })
}

/**
 * Composes the headers of a message, with one signature for each secret (Standard Webhooks 1.0.0).
 * @param secrets the present one first.
 */
function signedHeaders(
  eventId: string,
  body: string,
  secrets: readonly WebhookSecret[],
  now: Date,
): Record<string, string> {
  const timestamp = String(Math.floor(now.getTime() / 1_000))
  const signatures = secrets.map((secret) => secret.sign(eventId, timestamp, body))
  return {
    'webhook-id': eventId,
    'webhook-timestamp': timestamp,
    'webhook-signature': signatures.join(' '),
  }
}
