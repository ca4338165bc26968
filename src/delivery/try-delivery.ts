import { type DueDelivery, pingLane, type TriedDelivery } from '../storage/delivery-lanes.ts'
import type { DrainedWebhook, WebhookReference } from '../storage/delivery-queues.ts'
import { backOffSeconds, isGivenUp } from './back-off.ts'
import type { Delivering } from './delivering.ts'
import { bodyOf, signedHeaders } from './message.ts'

/** What is the same for all deliveries of an endpoint at a time. */
export interface Target extends WebhookReference, Pick<DrainedWebhook, 'url' | 'status'> {
  /** The present one first. */
  readonly secrets: readonly string[]
}

/** What a try came to, and whether it was the last that this endpoint gets. */
export interface TryResult {
  readonly tried: TriedDelivery
  readonly isGivenUp: boolean
}

/** Sends one event once. @returns null when it was stopped: nobody knows what it came to. */
export async function tryDelivery(
  { observe, post }: Delivering,
  target: Target,
  due: DueDelivery,
  stop: AbortSignal,
): Promise<TryResult | null> {
  const startedAt = new Date()
  const startedMs = performance.now()
  const body = bodyOf(due, target.webhookId)
  const headers = signedHeaders(due.eventId, body, target.secrets, startedAt)
  const outcome = await post(target.url, headers, body, stop)
  if (outcome === null) return null
  const durationMs = Math.round(performance.now() - startedMs)
  const isDelivered = outcome.outcome === 'delivered'
  observe.tried(outcome.outcome, isDelivered ? lagSeconds(due) : null)
  const { lane, position } = due
  const record = { at: startedAt.toISOString(), durationMs, ...outcome }
  return {
    tried: { lane, position, try: record, ...nextStep(due, isDelivered, startedAt) },
    isGivenUp: !isDelivered && lane !== pingLane && isGivenUp(due.firstTriedAt, startedAt),
  }
}

const lagSeconds = ({ createdAt, occurredAt }: DueDelivery): number =>
  Math.max(0, Date.now() - (occurredAt ?? createdAt).getTime()) / 1_000

/** A ping is tried once: it asks whether the endpoint answers now. */
function nextStep(
  { failures, firstTriedAt, lane }: DueDelivery,
  isDelivered: boolean,
  now: Date,
): Pick<TriedDelivery, 'status' | 'dueInSeconds'> {
  if (isDelivered) return { status: 'Delivered', dueInSeconds: 0 }
  if (lane === pingLane || isGivenUp(firstTriedAt, now))
    return { status: 'Failed', dueInSeconds: 0 }
  return { status: 'Pending', dueInSeconds: backOffSeconds(failures + 1, Math.random()) }
}
