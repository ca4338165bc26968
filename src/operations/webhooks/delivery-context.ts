import type { WebhookSecret } from '../../domain/webhook-secret.ts'
import type { Database } from '../../storage/engine/database.ts'
import type { WebhookReference } from '../../storage/webhooks/webhooks.ts'
import type { Retention } from '../events/expire.ts'
import type { Rests } from '../events/rests.ts'
import type { Post } from './post.ts'

/** What delivering works with. */
export interface DeliveryContext {
  readonly database: Database
  readonly rests: Rests
  readonly post: Post
  /** For the whole of one request. A lease is longer, so that it ends before the lease does. */
  readonly postTimeoutMs: number
  /** Opens the sealed secret of a webhook. */
  revealSecret(webhookId: string, sealed: Uint8Array): Promise<WebhookSecret>
  /** What is done with is forgotten after so long. */
  readonly retention: Retention
  readonly observe: DeliveryObserver
}

/** Is notified of what an operator wants to know. */
export interface DeliveryObserver {
  /** @param lagSeconds from the act to its delivery; null where it was not delivered. */
  tried(outcome: string, lagSeconds: number | null): void
  /** An endpoint that failed for three days gets nothing more. */
  disabled(webhook: WebhookReference): void
  /** Something failed that will be tried again by itself. */
  faulted(error: unknown, what: string): void
}

/** How work ends: first nothing more is begun, then what still runs is cut off. */
export interface Stopping {
  readonly stop: AbortSignal
  readonly cut: AbortSignal
}

/** Seconds that an endpoint is leased for without being heard of. */
export const computeLeaseSeconds = ({ postTimeoutMs }: DeliveryContext): number =>
  postTimeoutMs / 1_000 + 5
