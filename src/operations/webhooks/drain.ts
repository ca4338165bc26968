import { randomUUID } from 'node:crypto'
import { queueUndelivered } from '../../storage/webhooks/deliveries.ts'
import {
  type DueDelivery,
  failPending,
  listDueDeliveries,
  pingLane,
} from '../../storage/webhooks/lanes.ts'
import {
  abandonQueue,
  claimQueues,
  type DrainedWebhook,
  failuresOfFailing,
  releaseQueue,
  renewQueue,
  type WebhookReference,
  wakeQueue,
} from '../../storage/webhooks/queues.ts'
import { type Target, tryDelivery } from './attempt.ts'
import { createTryRecorder, type TryRecorder } from './attempt-recorder.ts'
import { type DeliveryContext, leaseSecondsOf, pause, type Stopping } from './delivery.ts'

/** Requests to one endpoint at once. */
const requestsMax = 16
/** The same while it fails: enough to find out when it no longer does. */
const requestsMaxFailing = 2
/** How often a busy endpoint is looked at for more. */
const lookAgainMs = 250
/** How long a process keeps an endpoint that always has something due. */
const turnMs = 5_000
/** Events queued again, or given up, in one statement. */
const stretch = 500

/** An endpoint that this process drains. */
interface Drain {
  readonly reference: WebhookReference
  readonly holder: string
  readonly stopping: Stopping
  readonly record: TryRecorder
  /** Lanes with a request on its way. */
  readonly busy: Map<string, Promise<void>>
  failuresInRow: number
  /** On this process's steady clock. */
  leasedUntilMs: number
  /** From then on it is another process's turn, if one wants it. */
  readonly sharedFromMs: number
  fault: { readonly error: unknown } | null
  /** Under its own lease, with nothing on its way. */
  isLetGo: boolean
}

/** An endpoint that was claimed, and by which lease. */
interface ClaimedQueue {
  readonly reference: WebhookReference
  readonly holder: string
  readonly failuresInRow: number
}

/**
 * Delivers what is due at one endpoint, in order on each lane, until nothing is due, the lease is lost
 * or it is stopped.
 */
async function drain(
  delivering: DeliveryContext,
  { failuresInRow, holder, reference }: ClaimedQueue,
  stopping: Stopping,
): Promise<void> {
  const state: Drain = {
    reference,
    holder,
    stopping,
    record: createTryRecorder(delivering, reference),
    busy: new Map(),
    failuresInRow,
    leasedUntilMs: 0,
    sharedFromMs: performance.now() + turnMs,
    fault: null,
    isLetGo: false,
  }
  try {
    while (!stopping.stop.aborted && (await takeTurn(delivering, state)));
  } finally {
    await finish(delivering, state)
  }
  if (state.fault) throw state.fault.error
  if (stopping.stop.aborted) await abandon(delivering, state)
}

/** Waits for what is on its way. */
async function finish({ database }: DeliveryContext, state: Drain): Promise<void> {
  await Promise.all(state.busy.values())
  // Another may have had the endpoint, and let go of it until later than what was recorded since is due.
  if (!state.isLetGo) await wakeQueue(database, state.reference)
}

/** @returns whether there is more to do here. */
async function takeTurn(delivering: DeliveryContext, state: Drain): Promise<boolean> {
  const webhook = await renew(delivering, state)
  if (webhook === null || state.fault) return false
  // Of a client that may be told nothing the endpoint is claimed no more, and waits as it is.
  if (!webhook.receivesEvents || performance.now() > state.sharedFromMs) {
    return passOn(delivering, state)
  }
  if (await prepare(delivering, state, webhook)) return true
  if (isFull(state)) return somethingEnds(state)
  const room = requestsAllowed(state) * 4 - state.busy.size
  const due = await listDueDeliveries(
    delivering.database,
    state.reference,
    [...state.busy.keys()],
    room,
  )
  if (due.length > 0) {
    const target = await targetOf(delivering, state, webhook)
    await start(delivering, state, target, due)
    return true
  }
  if (state.busy.size > 0) return somethingEnds(state)
  state.isLetGo = await release(delivering, state, webhook)
  return !state.isLetGo
}

async function renew(delivering: DeliveryContext, state: Drain): Promise<DrainedWebhook | null> {
  const seconds = leaseSecondsOf(delivering)
  // Counted from before the statement: the database counts from later.
  const askedMs = performance.now()
  const webhook = await renewQueue(delivering.database, state.reference, state.holder, seconds)
  state.leasedUntilMs = askedMs + seconds * 1_000
  return webhook
}

/** Starts nothing more, and lets whoever comes first have the endpoint. */
async function passOn(delivering: DeliveryContext, state: Drain): Promise<boolean> {
  if (state.busy.size > 0) return somethingEnds(state)
  await abandon(delivering, state)
  state.isLetGo = true
  return false
}

/**
 * A step of what an endpoint's settings ask for before anything is sent. While events are replayed
 * none is sent: a later one of the same card could pass one that is still to be queued.
 * @returns whether it may not have been the last.
 */
async function prepare(
  { database }: DeliveryContext,
  { reference }: Drain,
  { isDeleted, isReplaying, status }: DrainedWebhook,
): Promise<boolean> {
  if (status !== 'Enabled') {
    return failPending(database, reference, isDeleted ? null : pingLane, stretch)
  }
  return isReplaying && queueUndelivered(database, reference, stretch)
}

async function targetOf(
  { revealSecret }: DeliveryContext,
  { reference }: Drain,
  { formerSecrets, secret, status, suspendedSeconds, url, urlSince }: DrainedWebhook,
): Promise<Target> {
  const sealed = [secret, ...formerSecrets.map((each) => Buffer.from(each, 'hex'))]
  const secrets = await Promise.all(sealed.map((each) => revealSecret(reference.webhookId, each)))
  return { ...reference, url, urlSince, suspendedSeconds, status, secrets }
}

const isFailing = ({ failuresInRow }: Drain): boolean => failuresInRow >= failuresOfFailing

const requestsAllowed = (state: Drain): number =>
  isFailing(state) ? requestsMaxFailing : requestsMax

const isFull = (state: Drain): boolean => state.busy.size >= requestsAllowed(state)

/** Starts one after the other, as room gets free, while the lease is sure to outlast a request. */
async function start(
  delivering: DeliveryContext,
  state: Drain,
  target: Target,
  due: readonly DueDelivery[],
): Promise<void> {
  const listedMs = performance.now()
  for (const delivery of due) {
    while (isFull(state) && canStart(delivering, state)) {
      await somethingEnds(state)
      // By then it may be gone, disabled or somewhere else.
      if (performance.now() - listedMs >= lookAgainMs) return
    }
    if (!canStart(delivering, state)) return
    const request = deliver(delivering, state, target, delivery).finally(() => {
      state.busy.delete(delivery.lane)
    })
    state.busy.set(delivery.lane, request)
  }
}

const canStart = (
  { postTimeoutMs }: DeliveryContext,
  { fault, leasedUntilMs, stopping }: Drain,
): boolean =>
  !stopping.stop.aborted && fault === null && performance.now() + postTimeoutMs < leasedUntilMs

/** @returns true: then it is time to look again. */
async function somethingEnds({ busy, stopping }: Drain): Promise<true> {
  await Promise.race([...busy.values(), pause(lookAgainMs, stopping.stop)])
  return true
}

/** Never rejects: what goes wrong here ends the drain, and the lease lets another one begin. */
async function deliver(
  delivering: DeliveryContext,
  state: Drain,
  target: Target,
  due: DueDelivery,
): Promise<void> {
  try {
    const result = await tryDelivery(delivering, target, due, state.stopping.cut)
    if (result === null) return
    state.failuresInRow = result.tried.status === 'Delivered' ? 0 : state.failuresInRow + 1
    await state.record(result)
  } catch (error) {
    state.fault ??= { error }
  }
}

const abandon = ({ database }: DeliveryContext, state: Drain): Promise<void> =>
  abandonQueue(database, state.reference, state.holder, state)

const release = ({ database }: DeliveryContext, state: Drain, { wakes }: DrainedWebhook) =>
  releaseQueue(database, state.reference, state.holder, wakes, state)

/** Endpoints that a process drains at once. Those that fail have room of their own. */
const endpointsMax = { healthy: 64, failing: 16 } as const

/** So many are taken at a time, now and then by chance: the processes share what is due. */
const claimsMax = 8
const pollMs = 100

/** Drains endpoints, side by side with every other process, until it is stopped. */
export async function drainQueues(delivering: DeliveryContext, stopping: Stopping): Promise<void> {
  const drains = { healthy: new Set<Promise<void>>(), failing: new Set<Promise<void>>() }
  while (!stopping.stop.aborted) {
    for (const kind of ['healthy', 'failing'] as const) {
      const limit = Math.min(claimsMax, endpointsMax[kind] - drains[kind].size)
      for (const claimed of await claim(delivering, kind === 'failing', limit)) {
        const draining = drainOne(delivering, claimed, stopping).finally(() => {
          drains[kind].delete(draining)
        })
        drains[kind].add(draining)
      }
    }
    await pause(pollMs * (0.5 + Math.random()), stopping.stop)
  }
  await Promise.all([...drains.healthy, ...drains.failing])
}

async function claim(
  delivering: DeliveryContext,
  failing: boolean,
  limit: number,
): Promise<ClaimedQueue[]> {
  if (limit === 0) return []
  // Of this claim alone: what an earlier one let lapse is another's.
  const holder = randomUUID()
  const seconds = leaseSecondsOf(delivering)
  try {
    const claimed = await claimQueues(delivering.database, holder, { failing, limit }, seconds)
    return claimed.map(({ failuresInRow, ...reference }) => ({ reference, holder, failuresInRow }))
  } catch (error) {
    delivering.observe.faulted(error, 'endpoints could not be claimed')
    return []
  }
}

async function drainOne(
  delivering: DeliveryContext,
  claimed: ClaimedQueue,
  stopping: Stopping,
): Promise<void> {
  try {
    await drain(delivering, claimed, stopping)
  } catch (error) {
    delivering.observe.faulted(error, 'deliveries were broken off')
  }
}
