import { queueUndelivered } from '../../storage/webhooks/deliveries.ts'
import * as storedGroups from '../../storage/webhooks/delivery-groups.ts'
import * as storedQueues from '../../storage/webhooks/queues.ts'
import type { WebhookReference } from '../../storage/webhooks/webhooks.ts'
import { pause } from '../events/rests.ts'
import { type Target, tryDelivery } from './attempt.ts'
import { createTryRecorder, type TryRecorder } from './attempt-recorder.ts'
import { computeLeaseSeconds, type DeliveryContext, type Stopping } from './delivery-context.ts'

/** Requests to one endpoint at once. */
const requestsMax = 16
/** The same while it fails: enough to find out when it no longer does. */
const requestsMaxFailing = 2
/** How often a busy endpoint is looked at for more. */
const lookAgainMs = 250
/** How long a process drains an endpoint that always has something due. */
const drainMs = 5_000
/** Events queued again, or given up, in one statement. */
const stepSize = 500

/** An endpoint that was claimed, and by which lease. */
interface ClaimedQueue extends WebhookReference {
  readonly holder: string
  readonly consecutiveFailures: number
}

/** An endpoint that this process drains. */
interface Drain {
  readonly reference: WebhookReference
  readonly holder: string
  readonly stopping: Stopping
  readonly record: TryRecorder
  /** Groups with a request on its way. */
  readonly busy: Map<string, Promise<void>>
  consecutiveFailures: number
  /**
   * An answer that is yet to be put on record says when to come back: nothing more is sent before
   * it is.
   */
  isToldToRest: boolean
  /** On this process's steady clock. */
  leasedUntilMs: number
  /** From then on another process drains it, if one wants to. */
  readonly sharedFromMs: number
  fault: { readonly error: unknown } | null
  /** Its lease was given back before it ended, with nothing on its way. */
  isReleased: boolean
}

/**
 * Delivers what is due at one endpoint, in order on each group, until nothing is due, the lease is
 * lost or it is stopped.
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
    // Another may have had the endpoint, and released it until later than what was recorded since
    // is due.
    if (!drain.isReleased) await storedQueues.markQueueDue(database, reference)
  }
  if (drain.fault) throw drain.fault.error
  if (stopping.stop.aborted) await storedQueues.abandonQueue(database, reference, holder, drain)
}

/** @returns whether there is more to do here. */
async function drainStep(context: DeliveryContext, drain: Drain): Promise<boolean> {
  const { database } = context
  const { busy, holder, reference } = drain
  const leaseSeconds = computeLeaseSeconds(context)
  // Counted from before the statement: the database counts from later.
  const askedMs = performance.now()
  const webhook = await storedQueues.renewQueue(database, reference, holder, leaseSeconds)
  drain.leasedUntilMs = askedMs + leaseSeconds * 1_000
  if (webhook === null || drain.fault) return false
  // Of a client that may not be notified the endpoint is claimed no more, and waits as it is.
  if (!webhook.receivesEvents || performance.now() > drain.sharedFromMs) {
    if (busy.size > 0) return requestEnds(drain)
    await storedQueues.abandonQueue(database, reference, holder, drain)
    drain.isReleased = true
    return false
  }
  if (await prepareQueue(context, reference, webhook)) return true
  if (drain.isToldToRest) {
    if (busy.size > 0) return requestEnds(drain)
    // All is on record: the next look at the endpoint finds it at rest, or at what its client asked
    // for since.
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
 * Lets the last requests end, then releases the endpoint.
 * @returns whether there is more to do here.
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
 * A step of what an endpoint's settings ask for before anything is sent. While events are replayed
 * none is sent: a later one of the same card could pass one that is still to be queued.
 * @returns whether it may not have been the last.
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

/** Starts one after the other, as room gets free, while the lease is sure to outlast a request. */
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
      // By then it may be gone, disabled or somewhere else.
      if (performance.now() - listedMs >= lookAgainMs) return
    }
    if (!mayStart()) return
    const request = deliver(context, drain, target, delivery).finally(() => {
      busy.delete(delivery.groupKey)
    })
    busy.set(delivery.groupKey, request)
  }
}

/** @returns true: then it is time to look again. */
async function requestEnds({ busy, stopping }: Drain): Promise<true> {
  await Promise.race([...busy.values(), pause(lookAgainMs, stopping.stop)])
  return true
}

/** Never rejects: what goes wrong here ends the drain, and the lease lets another one begin. */
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
