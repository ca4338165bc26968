/**
 * Verifies webhooks on a server, in Node.js 20 and later and in any runtime with Web Crypto.
 *
 * ```ts
 * const event = await verifyWebhook(request.headers, await request.text(), secret)
 * if (event.type === 'pin.blocked') await tellCardholder(event.data.publicToken)
 * ```
 */
export type { DecisionAnswer, DecisionPing, DecisionRequest } from './decision.ts'
export type { PinfoldEvent, PinfoldMessage, PingMessage } from './event.ts'
export { verifyDecision } from './verify-decision.ts'
export {
  signTestWebhook,
  type VerifyOptions,
  verifyWebhook,
  WebhookError,
  type WebhookErrorCode,
  type WebhookHeaders,
} from './verify-webhook.ts'
