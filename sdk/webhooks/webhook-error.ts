/** Why a message was not accepted. Stable: switch on it. */
export type WebhookErrorCode = keyof typeof messages

const messages = {
  invalid_secret: 'The secret is not of the form whsec_ and base64.',
  missing_header: 'The message lacks webhook-id, webhook-timestamp or webhook-signature.',
  wrong_time: 'The message is too old, or from the future, by the clock of this machine.',
  invalid_signature: 'The message is not signed with this secret, or was changed.',
  malformed_body: 'The body is not a JSON message.',
} as const

/** The only error that this library throws on purpose. No secret is in it. */
export class WebhookError extends Error {
  readonly code: WebhookErrorCode

  constructor(code: WebhookErrorCode) {
    super(messages[code])
    this.name = 'WebhookError'
    this.code = code
  }
}
