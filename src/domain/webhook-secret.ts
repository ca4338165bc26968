import { Secret } from './secret.ts'

const prefix = 'whsec_'

/**
 * A secret that messages to a webhook are signed with (Standard Webhooks 1.0.0): `whsec_` and a key
 * in base64.
 */
export class WebhookSecret extends Secret<string> {
  constructor(text: string) {
    super(text, `${prefix}****`)
  }

  /** The bytes that messages are signed with. */
  revealKey(): Uint8Array {
    return Buffer.from(this.reveal().slice(prefix.length), 'base64')
  }
}

/** @param key 32 random bytes. */
export const encodeWebhookSecret = (key: Uint8Array): WebhookSecret =>
  new WebhookSecret(`${prefix}${Buffer.from(key).toString('base64')}`)
