import type { WebhookSecret } from '../../domain/webhook-secret.ts'
import type { Database } from '../../storage/engine/database.ts'
import type { WebhookReference } from '../../storage/webhooks/webhooks.ts'
import type { Retention } from '../events/expire.ts'
import type { PublicationGate } from '../events/publish.ts'
import type { Rests } from '../events/rests.ts'
import type { Post } from './post.ts'

/** The dependencies of webhook delivery. */
export interface DeliveryContext {
  readonly database: Database
  readonly rests: Rests
  /** Null in production. */
  readonly gate: PublicationGate | null
  readonly post: Post
  /** The time limit of a whole request. The lease is longer, so that the request ends first. */
  readonly postTimeoutMs: number
  /** Opens the sealed secret of a webhook. */
  revealSecret(webhookId: string, sealed: Uint8Array): Promise<WebhookSecret>
  /** The retention of finished records. */
  readonly retention: Retention
  readonly observe: DeliveryObserver
}

/** Receives the facts that operators monitor. */
export interface DeliveryObserver {
  /** @param lagSeconds from the act to its delivery; null if it was not delivered. */
  tried(outcome: string, lagSeconds: number | null): void
  /** An endpoint was disabled after three days of failures. */
  disabled(webhook: WebhookReference): void
  /** A step failed and will be retried automatically. */
  faulted(error: unknown, what: string): void
}

/** How work stops: first no new work begins, then running work is aborted. */
export interface Stopping {
  readonly stop: AbortSignal
  readonly cut: AbortSignal
}

/** Returns the duration of an endpoint's lease, in seconds. */
export const computeLeaseSeconds = ({ postTimeoutMs }: DeliveryContext): number =>
  postTimeoutMs / 1_000 + 5
