import { createHmac } from 'node:crypto'
import type { DueDelivery } from '../storage/delivery-lanes.ts'

/** The body of an event, the same at every try (Standard Webhooks, “Payload”). */
export function bodyOf(delivery: DueDelivery, webhookId: string): string {
  const { createdAt, details, occurredAt, type } = delivery
  const data = details === null ? { webhookId } : cardData(delivery, details)
  return JSON.stringify({ type, timestamp: (occurredAt ?? createdAt).toISOString(), data })
}

const cardData = ({ lane, sequence }: DueDelivery, details: string): object => ({
  publicToken: lane,
  sequence,
  ...JSON.parse(details),
})

/**
 * Headers of a message, one signature for each secret (Standard Webhooks 1.0.0: HMAC-SHA256 over
 * `id.timestamp.body`).
 * @param secrets `whsec_` and the key in base64; the present one first.
 */
export function signedHeaders(
  eventId: string,
  body: string,
  secrets: readonly string[],
  now: Date,
): Record<string, string> {
  const timestamp = String(Math.floor(now.getTime() / 1_000))
  const content = `${eventId}.${timestamp}.${body}`
  return {
    'webhook-id': eventId,
    'webhook-timestamp': timestamp,
    'webhook-signature': secrets.map((secret) => `v1,${sign(secret, content)}`).join(' '),
  }
}

const sign = (secret: string, content: string): string =>
  createHmac('sha256', Buffer.from(secret.slice('whsec_'.length), 'base64'))
    .update(content)
    .digest('base64')
