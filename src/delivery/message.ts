import { createHmac } from 'node:crypto'
import { type DueDelivery, pingLane } from '../storage/delivery-lanes.ts'

/**
 * The body of an event, the same at every try (Standard Webhooks, “Payload”).
 * @returns null for an event that is not kept any more: nobody knows what it told.
 */
export function bodyOf(delivery: DueDelivery, webhookId: string): string | null {
  const { createdAt, details, lane, occurredAt, type } = delivery
  const isPing = lane === pingLane
  if (!isPing && details === null) return null
  const data = isPing ? { webhookId } : cardData(delivery)
  return JSON.stringify({ type, timestamp: (occurredAt ?? createdAt).toISOString(), data })
}

const cardData = ({ details, lane, sequence }: DueDelivery): object => ({
  publicToken: lane,
  sequence,
  ...JSON.parse(details ?? '{}'),
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
