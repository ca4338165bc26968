import type {
  CreatedWebhook,
  CreateWebhook,
  Delivery,
  Queued,
  Replay,
  Replaying,
  RotatedSecret,
  UpdateWebhook,
  Webhook,
} from '../models.ts'
import {
  type Calls,
  type ChangeOptions,
  type Listing,
  listing,
  type Query,
} from '../transport/calls.ts'
import { type CallOptions, path } from '../transport/transport.ts'

/** All methods need the scope `webhooks.write`. */
export interface Webhooks {
  /**
   * The answer contains the secret, only once. After a repeated call it is absent: `rotateSecret`
   * makes another.
   */
  create(webhook: CreateWebhook, options?: ChangeOptions): Promise<CreatedWebhook>
  retrieve(webhookId: string, options?: CallOptions): Promise<Webhook>
  list(query?: Query<'listWebhooks'>, options?: CallOptions): Listing<Webhook>
  /** Absent members get their defaults of the creation. */
  update(webhookId: string, webhook: UpdateWebhook, options?: ChangeOptions): Promise<Webhook>
  delete(webhookId: string, options?: CallOptions): Promise<void>
  /** Old and new secret both sign for 24 hours. */
  rotateSecret(webhookId: string, options?: ChangeOptions): Promise<RotatedSecret>
  /** Sends one `webhook.ping`. */
  ping(webhookId: string, options?: ChangeOptions): Promise<Queued>
  listDeliveries(
    webhookId: string,
    query?: Query<'listDeliveries'>,
    options?: CallOptions,
  ): Listing<Delivery>
  resend(webhookId: string, deliveryId: string, options?: ChangeOptions): Promise<Queued>
  /** Sends all undelivered events since then. */
  replay(webhookId: string, replay: Replay, options?: ChangeOptions): Promise<Replaying>
}

export const webhooks = (calls: Calls): Webhooks => ({
  create: (webhook, options) => calls.post<'createWebhook'>(path`/webhooks`, webhook, options),
  retrieve: (id, options) => calls.get<'findWebhook'>(path`/webhooks/${id}`, options),
  list: (query = {}, options) =>
    listing((rest) => calls.page<'listWebhooks'>(path`/webhooks`, rest, options), query),
  update: (id, webhook, options) =>
    calls.put<'updateWebhook'>(path`/webhooks/${id}`, webhook, options),
  delete: (id, options) => calls.delete(path`/webhooks/${id}`, options),
  rotateSecret: (id, options) =>
    calls.post<'rotateWebhookSecret'>(path`/webhooks/${id}/rotate-secret`, {}, options),
  ping: (id, options) => calls.post<'pingWebhook'>(path`/webhooks/${id}/ping`, {}, options),
  listDeliveries(id, query = {}, options) {
    const address = path`/webhooks/${id}/deliveries`
    return listing((rest) => calls.page<'listDeliveries'>(address, rest, options), query)
  },
  resend: (id, deliveryId, options) =>
    calls.post<'resendDelivery'>(
      path`/webhooks/${id}/deliveries/${deliveryId}/resend`,
      {},
      options,
    ),
  replay: (id, replay, options) =>
    calls.post<'replayWebhook'>(path`/webhooks/${id}/replay`, replay, options),
})
