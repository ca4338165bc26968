import { setTimeout as sleep } from 'node:timers/promises'
import type { Database } from '../../storage/engine/database.ts'
import type { WebhookReference } from '../../storage/webhooks/queues.ts'
import { pruneRegularly } from '../events/prune.ts'
import { publishEvents } from '../events/publish.ts'
import { drainQueues } from './drain.ts'
import type { Post } from './post.ts'

/** What delivering works with. */
export interface DeliveryContext {
  readonly database: Database
  readonly post: Post
  /** For the whole of one request. A lease is longer, so that it ends before the lease does. */
  readonly postTimeoutMs: number
  /** Opens the sealed secret of a webhook. */
  revealSecret(webhookId: string, sealed: Uint8Array): Promise<string>
  /** Settled events and deliveries are forgotten after so many days. */
  readonly retentionDays: number
  readonly observe: DeliveryObserver
}

/** Told of what an operator wants to know. */
export interface DeliveryObserver {
  /** @param lagSeconds from the act to its delivery; null where it was not delivered. */
  tried(outcome: string, lagSeconds: number | null): void
  /** An endpoint that failed for three days gets nothing more. */
  disabled(webhook: WebhookReference): void
  /** Something failed that will be tried again by itself. */
  faulted(error: unknown, what: string): void
}

/** Seconds that an endpoint is held for without being heard of. */
export const leaseSecondsOf = ({ postTimeoutMs }: DeliveryContext): number =>
  postTimeoutMs / 1_000 + 5

/** How long requests on their way may take when the process is to end. */
const graceMs = 2_000

/** Delivering, as it runs. */
export interface RunningDelivery {
  /** Starts nothing more, waits a moment for what is on its way, lets go of every lease. */
  stop(): Promise<void>
}

/** Places events, delivers them and forgets the old ones, until it is stopped. */
export function startDelivery(delivering: DeliveryContext): RunningDelivery {
  const stop = new AbortController()
  const cut = new AbortController()
  const running = Promise.all([
    publishEvents(delivering, stop.signal),
    drainQueues(delivering, { stop: stop.signal, cut: cut.signal }),
    pruneRegularly(delivering, stop.signal),
  ])
  return {
    async stop() {
      stop.abort()
      const cutting = setTimeout(() => cut.abort(), graceMs)
      await running
      clearTimeout(cutting)
    },
  }
}

/** How work ends: first nothing more is begun, then what still runs is cut off. */
export interface Stopping {
  readonly stop: AbortSignal
  readonly cut: AbortSignal
}

/** Waits, but no longer than until it is stopped. */
export async function pause(milliseconds: number, stop: AbortSignal): Promise<void> {
  await sleep(milliseconds, undefined, { signal: stop }).catch(() => undefined)
}
