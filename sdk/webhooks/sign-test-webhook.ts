import type { PinfoldMessage } from './event.ts'
import { importSecret, sign, signedContent } from './signature.ts'

/** A message as the service would send it, for the tests of an endpoint. */
export async function signTestWebhook(
  message: PinfoldMessage,
  secret: string,
  { id = crypto.randomUUID() as string, at = new Date() } = {},
): Promise<{ headers: Record<string, string>; body: string }> {
  const body = JSON.stringify(message)
  const timestamp = String(Math.floor(at.getTime() / 1_000))
  const key = await importSecret(secret)
  const signature = await sign(key, signedContent(id, timestamp, body))
  return {
    body,
    headers: {
      'content-type': 'application/json',
      'webhook-id': id,
      'webhook-timestamp': timestamp,
      'webhook-signature': `v1,${signature}`,
    },
  }
}
