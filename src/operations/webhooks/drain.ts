import { queueUndelivered } from '../../storage/webhooks/deliveries.ts'
import * as storedGroups from '../../storage/webhooks/delivery-groups.ts'
import * as storedQueues from '../../storage/webhooks/queues.ts'
import type { WebhookReference } from '../../storage/webhooks/webhooks.ts'
import { pause } from '../events/rests.ts'
import { type Target, tryDelivery } from './attempt.ts'
import { createTryRecorder, type TryRecorder } from './attempt-recorder.ts'
import { computeLeaseSeconds, type DeliveryContext, type Stopping } from './delivery-context.ts'

/** The maximum number of concurrent requests to one endpoint. */
const requestsMax = 16
/** The same for a failing endpoint: enough to detect its recovery. */
const requestsMaxFailing = 2
/** How often a busy endpoint is checked for more deliveries. */
const lookAgainMs = 250
/** How long a process stays with an endpoint that always has due deliveries. */
const drainMs = 5_000
/** The number of events that one statement queues again or gives up. */
const stepSize = 500

/** A claimed endpoint with its lease. */
interface ClaimedQueue extends WebhookReference {
  readonly holder: string
  readonly consecutiveFailures: number
}

/** An endpoint that this process delivers to. */
interface Drain {
  readonly reference: WebhookReference
  readonly holder: string
  readonly stopping: Stopping
  readonly record: TryRecorder
  /** The groups with a running request. */
  readonly busy: Map<string, Promise<void>>
  consecutiveFailures: number
  /** An unrecorded answer requested a pause: no request starts until it is recorded. */
  isToldToRest: boolean
  /** On this process's monotonic clock. */
  leasedUntilMs: number
  /** After this time, another process can take over. */
  readonly sharedFromMs: number
  fault: { readonly error: unknown } | null
  /** Whether its lease was released early, without running requests. */
  isReleased: boolean
}

/**
 * Delivers the due deliveries of one endpoint, in the order of each group, until none is due, the
 * lease ends or it is stopped.
 */
export async function drainQueue(
  context: DeliveryContext,
  { clientId, consecutiveFailures, holder, webhookId }: ClaimedQueue,
  stopping: Stopping,
): Promise<void> {
  const { database } = context
  const reference = { clientId, webhookId }
  const drain: Drain = {
    reference,
    holder,
    stopping,
    record: createTryRecorder(context, reference),
    busy: new Map(),
    consecutiveFailures,
    isToldToRest: false,
    leasedUntilMs: 0,
    sharedFromMs: performance.now() + drainMs,
    fault: null,
    isReleased: false,
  }
  try {
    while (!stopping.stop.aborted && (await drainStep(context, drain)));
  } finally {
    await Promise.all(drain.busy.values())
    // Another process may have claimed and released the endpoint with a later time than the new
    // deliveries are due.
    if (!drain.isReleased) await storedQueues.markQueueDue(database, reference)
  }
  if (drain.fault) throw drain.fault.error
  if (stopping.stop.aborted) await storedQueues.abandonQueue(database, reference, holder, drain)
}

/** @returns whether work remains here. */
async function drainStep(context: DeliveryContext, drain: Drain): Promise<boolean> {
  const { database } = context
  const { busy, holder, reference } = drain
  const leaseSeconds = computeLeaseSeconds(context)
  // Read before the statement, because the database counts from a later time.
  const askedMs = performance.now()
  const webhook = await storedQueues.renewQueue(database, reference, holder, leaseSeconds)
  drain.leasedUntilMs = askedMs + leaseSeconds * 1_000
  if (webhook === null || drain.fault) return false
  // The endpoint of a client without the right to events is not claimed, and its deliveries wait.
  if (!webhook.receivesEvents || performance.now() > drain.sharedFromMs) {
    if (busy.size > 0) return requestEnds(drain)
    await storedQueues.abandonQueue(database, reference, holder, drain)
    drain.isReleased = true
    return false
  }
  if (await prepareQueue(context, reference, webhook)) return true
  if (drain.isToldToRest) {
    if (busy.size > 0) return requestEnds(drain)
    // Everything is recorded: the next check finds the endpoint paused, or the client's newer
    // request.
    drain.isToldToRest = false
    return true
  }
  if (webhook.isResting) return endDrain(context, drain, webhook)
  const requestsAllowed = requestsAllowedBy(drain)
  if (busy.size >= requestsAllowed) return requestEnds(drain)
  const room = requestsAllowed * 4 - busy.size
  const due = await storedGroups.listDueDeliveries(database, reference, [...busy.keys()], room)
  if (due.length > 0) {
    const { formerSecrets, secret, status, suspendedSeconds, url, urlSince } = webhook
    const sealed = [secret, ...formerSecrets.map((each) => Buffer.from(each, 'hex'))]
    const reveal = (each: Uint8Array) => context.revealSecret(reference.webhookId, each)
    const secrets = await Promise.all(sealed.map(reveal))
    const target = { ...reference, url, urlSince, suspendedSeconds, status, secrets }
    await startRequests(context, drain, target, due)
    return true
  }
  return endDrain(context, drain, webhook)
}

/**
 * Waits for the last requests, then releases the endpoint.
 * @returns whether work remains here.
 */
async function endDrain(
  { database }: DeliveryContext,
  drain: Drain,
  { arrivals }: storedQueues.DrainedWebhook,
): Promise<boolean> {
  const { busy, consecutiveFailures, holder, reference } = drain
  if (busy.size > 0) return requestEnds(drain)
  const seen = { arrivals, consecutiveFailures }
  drain.isReleased = await storedQueues.releaseQueue(database, reference, holder, seen)
  return !drain.isReleased
}

/**
 * Does one step that the endpoint's settings require before any delivery. No event is delivered
 * during a replay, because it could overtake an earlier event of its card.
 * @returns whether another step may be needed.
 */
async function prepareQueue(
  { database }: DeliveryContext,
  reference: WebhookReference,
  { isDeleted, isReplaying, status }: storedQueues.DrainedWebhook,
): Promise<boolean> {
  if (status !== 'Enabled') {
    return storedGroups.failPending(
      database,
      reference,
      isDeleted ? null : storedGroups.pingGroup,
      stepSize,
    )
  }
  return isReplaying && queueUndelivered(database, reference, stepSize)
}

const requestsAllowedBy = ({ consecutiveFailures }: Drain): number =>
  consecutiveFailures >= storedQueues.failingThreshold ? requestsMaxFailing : requestsMax

/** Starts requests as capacity allows, while the lease surely outlasts a request. */
async function startRequests(
  context: DeliveryContext,
  drain: Drain,
  target: Target,
  due: readonly storedGroups.DueDelivery[],
): Promise<void> {
  const { busy, stopping } = drain
  const mayStart = () =>
    !stopping.stop.aborted &&
    drain.fault === null &&
    !drain.isToldToRest &&
    performance.now() + context.postTimeoutMs < drain.leasedUntilMs
  const listedMs = performance.now()
  for (const delivery of due) {
    while (busy.size >= requestsAllowedBy(drain) && mayStart()) {
      await requestEnds(drain)
      // By then the webhook may be deleted, disabled or changed.
      if (performance.now() - listedMs >= lookAgainMs) return
    }
    if (!mayStart()) return
    const request = deliver(context, drain, target, delivery).finally(() => {
      busy.delete(delivery.groupKey)
    })
    busy.set(delivery.groupKey, request)
  }
}

/** @returns true: then it is time for the next check. */
async function requestEnds({ busy, stopping }: Drain): Promise<true> {
  await Promise.race([...busy.values(), pause(lookAgainMs, stopping.stop)])
  return true
}

/** Never rejects: an error ends the work here, and after the lease another process resumes it. */
async function deliver(
  context: DeliveryContext,
  drain: Drain,
  target: Target,
  due: storedGroups.DueDelivery,
): Promise<void> {
  try {
    const result = await tryDelivery(context, target, due, drain.stopping.cut)
    if (result === null) return
    if (result.restSeconds > 0) drain.isToldToRest = true
    drain.consecutiveFailures =
      result.tried.status === 'Delivered' ? 0 : drain.consecutiveFailures + 1
    await drain.record(result)
  } catch (error) {
    drain.fault ??= { error }
  }
}
