import type { DecisionPing, DecisionRequest } from './decision.ts'
import {
  decodeBase64,
  importSecret,
  parseBody,
  requireSubtle,
  type SignatureKey,
  type VerifyOptions,
  verifySignature,
  WebhookError,
  type WebhookHeaders,
} from './verify-webhook.ts'

/**
 * Verifies a request for a decision: signed with the key, recent and unchanged. A request may come
 * twice: answer the same `decisionId` as before. A ping has a `type`.
 *
 * ```ts
 * const message = await verifyDecision(request.headers, await request.text(), key)
 * if ('type' in message) return Response.json({ challenge: message.challenge })
 * return Response.json(decide(message))
 * ```
 * @param body the exact bytes, before any parser.
 * @param key `whsec_…` (HMAC), or `whpk_…` (Ed25519), from your decision endpoint.
 * @throws WebhookError
 */
export async function verifyDecision(
  headers: WebhookHeaders,
  body: string,
  key: string,
  options: VerifyOptions = {},
): Promise<DecisionRequest | DecisionPing> {
  const imported = key.startsWith('whpk_') ? await importPublicKey(key) : await importSecret(key)
  await verifySignature(headers, body, imported, options)
  return parseBody(body)
}

async function importPublicKey(text: string): Promise<SignatureKey> {
  const [, base64] = /^whpk_([A-Za-z0-9+/]{43}=)$/.exec(text) ?? []
  if (base64 === undefined) throw new WebhookError('invalid_public_key')
  const bytes = decodeBase64(base64)
  const key = await requireSubtle().importKey('raw', bytes, 'Ed25519', false, ['verify'])
  return { algorithm: 'Ed25519', pattern: /^v1a,([A-Za-z0-9+/]{86}==)$/, key }
}
