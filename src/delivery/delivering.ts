import type { Database } from '../storage/database.ts'
import type { WebhookReference } from '../storage/delivery-queues.ts'
import type { Post } from './post.ts'

/** What delivering works with. */
export interface Delivering {
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
export const leaseSecondsOf = ({ postTimeoutMs }: Delivering): number => postTimeoutMs / 1_000 + 5
