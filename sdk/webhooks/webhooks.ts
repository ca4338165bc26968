/**
 * Receiving webhooks: browser-free, in Node.js 20 and later and in any runtime with Web Crypto.
 *
 * ```ts
 * const event = await verifyWebhook(request.headers, await request.text(), secret)
 * if (event.type === 'pin.blocked') await tellCardholder(event.data.publicToken)
 * ```
 */
export type { PinfoldEvent, PinfoldMessage, PingMessage } from './event.ts'
export { signTestWebhook } from './sign-test-webhook.ts'
export { type VerifyOptions, verifyWebhook, type WebhookHeaders } from './verify-webhook.ts'
export { WebhookError, type WebhookErrorCode } from './webhook-error.ts'
