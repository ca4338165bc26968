import { createHmac } from 'node:crypto'
import { Secret } from './secret.ts'

const prefix = 'whsec_'

/**
 * A secret that signs messages to a webhook (Standard Webhooks 1.0.0): `whsec_` and a key in
 * base64.
 */
export class WebhookSecret extends Secret<string> {
  constructor(text: string) {
    super(text, `${prefix}****`)
  }

  /** Signs a message (Standard Webhooks 1.0.0: HMAC-SHA256 over `id.timestamp.body`). */
  sign(id: string, timestamp: string, body: string): string {
    const key = Buffer.from(this.reveal().slice(prefix.length), 'base64')
    const signature = createHmac('sha256', key).update(`${id}.${timestamp}.${body}`)
    return `v1,${signature.digest('base64')}`
  }
}

/** @param key 32 random bytes. */
export const encodeWebhookSecret = (key: Uint8Array): WebhookSecret =>
  new WebhookSecret(`${prefix}${Buffer.from(key).toString('base64')}`)
