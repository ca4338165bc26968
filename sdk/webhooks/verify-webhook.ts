import type { PinfoldMessage } from './event.ts'
import { importSecret, isSignedBy, signedContent } from './signature.ts'
import { WebhookError } from './webhook-error.ts'

/** Headers as `fetch` has them, or as Node.js does, in whatever case. */
export type WebhookHeaders =
  | { get(name: string): string | null }
  | Readonly<Record<string, string | readonly string[] | undefined>>

export interface VerifyOptions {
  /** How far the message's time may be from this machine's. Default: 300. */
  readonly toleranceSeconds?: number
  /** The clock of this machine. */
  now?(): Date
}

/**
 * Takes a message in: signed with the secret, now, and not changed on its way. Before you act on it,
 * look whether you have had its `webhook-id`: a message may come again.
 * @param body exactly as it came, before any parser.
 * @param secret `whsec_…`, from the creation of the webhook or its last rotation.
 * @throws WebhookError
 */
export async function verifyWebhook(
  headers: WebhookHeaders,
  body: string,
  secret: string,
  { now = () => new Date(), toleranceSeconds = 300 }: VerifyOptions = {},
): Promise<PinfoldMessage> {
  const key = await importSecret(secret)
  const id = headerOf(headers, 'webhook-id')
  const timestamp = headerOf(headers, 'webhook-timestamp')
  const signature = headerOf(headers, 'webhook-signature')
  const ageSeconds = now().getTime() / 1_000 - Number(timestamp)
  if (!/^[0-9]{1,12}$/.test(timestamp) || Math.abs(ageSeconds) > toleranceSeconds) {
    throw new WebhookError('wrong_time')
  }
  if (!(await isSignedBy(key, signedContent(id, timestamp, body), signature))) {
    throw new WebhookError('invalid_signature')
  }
  return parse(body)
}

function headerOf(headers: WebhookHeaders, name: string): string {
  const value = hasGet(headers) ? headers.get(name) : memberOf(headers, name)
  if (typeof value !== 'string' || value === '') throw new WebhookError('missing_header')
  return value
}

const hasGet = (headers: WebhookHeaders): headers is { get(name: string): string | null } =>
  typeof headers.get === 'function'

const memberOf = (headers: Readonly<Record<string, unknown>>, name: string): unknown =>
  Object.entries(headers).find(([each]) => each.toLowerCase() === name)?.[1]

function parse(body: string): PinfoldMessage {
  try {
    return JSON.parse(body) as PinfoldMessage
  } catch {
    throw new WebhookError('malformed_body')
  }
}
