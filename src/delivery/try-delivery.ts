import { type DueDelivery, pingLane } from '../storage/delivery-lanes.ts'
import type { DrainedWebhook, WebhookReference } from '../storage/delivery-queues.ts'
import type { TriedDelivery } from '../storage/delivery-tries.ts'
import { backOffSeconds, isGivenUp } from './back-off.ts'
import type { Delivering } from './delivering.ts'
import { bodyOf, signedHeaders } from './message.ts'
import type { PostOutcome } from './post.ts'

/** What is the same for all deliveries of an endpoint at a time. */
export interface Target
  extends WebhookReference,
    Pick<DrainedWebhook, 'url' | 'urlSince' | 'suspendedSeconds' | 'status'> {
  /** The present one first. */
  readonly secrets: readonly string[]
}

/** What a try came to, and whether it was the last that this address gets. */
export interface TryResult {
  readonly tried: TriedDelivery
  readonly isGivenUp: boolean
  /** Tells where it was tried. */
  readonly urlSince: Date
}

/** Sends one event once. @returns null when it was stopped: nobody knows what it came to. */
export async function tryDelivery(
  delivering: Delivering,
  target: Target,
  due: DueDelivery,
  stop: AbortSignal,
): Promise<TryResult | null> {
  const startedAt = new Date()
  const startedMs = performance.now()
  const outcome = await send(delivering, target, due, startedAt, stop)
  if (outcome === null) return null
  const durationMs = Math.round(performance.now() - startedMs)
  const isDelivered = outcome.outcome === 'delivered'
  delivering.observe.tried(outcome.outcome, isDelivered ? lagSeconds(due) : null)
  const { failures, lane, position, round } = due
  const record = { at: startedAt.toISOString(), durationMs, ...outcome }
  const step = nextStep(target, due, outcome, startedAt)
  return {
    tried: { lane, position, round, failures, try: record, ...step },
    isGivenUp: step.status === 'Failed' && outcome !== notKept && lane !== pingLane,
    urlSince: target.urlSince,
  }
}

/** It was forgotten as it was asked for again. */
const notKept: PostOutcome = { outcome: 'event_not_kept' }

function send(
  { post }: Delivering,
  { secrets, url, webhookId }: Target,
  due: DueDelivery,
  now: Date,
  stop: AbortSignal,
): Promise<PostOutcome | null> {
  const body = bodyOf(due, webhookId)
  if (body === null) return Promise.resolve(notKept)
  return post(url, signedHeaders(due.eventId, body, secrets, now), body, stop)
}

const lagSeconds = ({ createdAt, occurredAt }: DueDelivery): number =>
  Math.max(0, Date.now() - (occurredAt ?? createdAt).getTime()) / 1_000

/** A ping is tried once: it asks whether the endpoint answers now. */
function nextStep(
  { suspendedSeconds, urlSince }: Target,
  { failures, firstTriedAt, lane }: DueDelivery,
  outcome: PostOutcome,
  now: Date,
): Pick<TriedDelivery, 'status' | 'dueInSeconds'> {
  if (outcome.outcome === 'delivered') return { status: 'Delivered', dueInSeconds: 0 }
  const counted = new Date(now.getTime() - suspendedSeconds * 1_000)
  const isOver = isGivenUp(firstTriedAt, urlSince, counted)
  const isLast = lane === pingLane || outcome === notKept || isOver
  if (isLast) return { status: 'Failed', dueInSeconds: 0 }
  return { status: 'Pending', dueInSeconds: backOffSeconds(failures + 1, Math.random()) }
}
