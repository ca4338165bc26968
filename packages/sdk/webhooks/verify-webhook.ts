import type { PinfoldMessage } from './event.ts'

/** Headers of `fetch` or of Node.js, in any case. */
export type WebhookHeaders =
  | { get(name: string): string | null }
  | Readonly<Record<string, string | readonly string[] | undefined>>

export interface VerifyOptions {
  /** The maximum difference between the message's time and this machine's. Default: 300. */
  readonly toleranceSeconds?: number
  /** The clock of this machine. */
  now?(): Date
}

/**
 * Verifies a message: signed with the secret, recent and unchanged. Before you act on it, check
 * whether you have processed its `webhook-id`, since a message may be repeated.
 * @param body the exact bytes, before any parser.
 * @param secret `whsec_…`, from the creation of the webhook or its last rotation.
 * @throws WebhookError
 */
export async function verifyWebhook(
  headers: WebhookHeaders,
  body: string,
  secret: string,
  options: VerifyOptions = {},
): Promise<PinfoldMessage> {
  const key = await importSecret(secret)
  await verifySignature(headers, body, key, options)
  return parseBody(body)
}

/**
 * Verifies the time and a signature of a message.
 * @throws WebhookError
 */
export async function verifySignature(
  headers: WebhookHeaders,
  body: string,
  key: SignatureKey,
  { now = () => new Date(), toleranceSeconds = 300 }: VerifyOptions,
): Promise<void> {
  const id = requireHeader(headers, 'webhook-id')
  const timestamp = requireHeader(headers, 'webhook-timestamp')
  const signature = requireHeader(headers, 'webhook-signature')
  const ageSeconds = now().getTime() / 1_000 - Number(timestamp)
  if (!/^[0-9]{1,12}$/.test(timestamp) || Math.abs(ageSeconds) > toleranceSeconds) {
    throw new WebhookError('wrong_time')
  }
  if (!(await isSignedBy(key, signedContent(id, timestamp, body), signature))) {
    throw new WebhookError('invalid_signature')
  }
}

function requireHeader(headers: WebhookHeaders, name: string): string {
  const value = hasGet(headers) ? headers.get(name) : findMember(headers, name)
  if (typeof value !== 'string' || value === '') throw new WebhookError('missing_header')
  return value
}

const hasGet = (headers: WebhookHeaders): headers is { get(name: string): string | null } =>
  typeof headers.get === 'function'

const findMember = (headers: Readonly<Record<string, unknown>>, name: string): unknown =>
  Object.entries(headers).find(([each]) => each.toLowerCase() === name)?.[1]

/** Parses a verified body. @throws WebhookError */
export function parseBody<Body extends object>(body: string): Body {
  try {
    return JSON.parse(body) as Body
  } catch {
    throw new WebhookError('malformed_body')
  }
}

/** Signs a message as the service does, for the tests of an endpoint. */
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

/** A key of Web Crypto, in any runtime. */
type WebCryptoKey = Awaited<ReturnType<typeof crypto.subtle.importKey>>

/** A key that verifies the signatures of one form. */
export interface SignatureKey {
  readonly algorithm: 'HMAC' | 'Ed25519'
  /** A signature in the header: the first group is its base64. */
  readonly pattern: RegExp
  readonly key: WebCryptoKey
}

const hmac = { name: 'HMAC', hash: 'SHA-256' } as const
const hmacPattern = /^v1,([A-Za-z0-9+/]{43}=)$/

/** Imports the key in a secret. @throws WebhookError `invalid_secret`, `no_web_crypto`. */
export async function importSecret(secret: string): Promise<SignatureKey> {
  const [, text] = /^whsec_([A-Za-z0-9+/]{32,88}={0,2})$/.exec(secret) ?? []
  if (text === undefined) throw new WebhookError('invalid_secret')
  const key = await requireSubtle().importKey('raw', decodeBase64(text), hmac, false, [
    'sign',
    'verify',
  ])
  return { algorithm: 'HMAC', pattern: hmacPattern, key }
}

/** Returns Web Crypto. @throws WebhookError `no_web_crypto`. */
export function requireSubtle(): typeof crypto.subtle {
  const { crypto: known }: { readonly crypto?: { readonly subtle?: object } } = globalThis
  if (!known?.subtle) throw new WebhookError('no_web_crypto')
  return crypto.subtle
}

export const decodeBase64 = (text: string): Uint8Array<ArrayBuffer> =>
  Uint8Array.from(atob(text), (character) => character.charCodeAt(0))

/** Composes the signed text (Standard Webhooks 1.0.0). */
const signedContent = (id: string, timestamp: string, body: string) =>
  new TextEncoder().encode(`${id}.${timestamp}.${body}`)

/** Signs a message. @returns base64. */
async function sign({ key }: SignatureKey, content: Uint8Array<ArrayBuffer>): Promise<string> {
  const signature = await crypto.subtle.sign('HMAC', key, content)
  return btoa(String.fromCharCode(...new Uint8Array(signature)))
}

/** Whether one of the signatures in a header matches this key. Compared in constant time. */
async function isSignedBy(
  { algorithm, key, pattern }: SignatureKey,
  content: Uint8Array<ArrayBuffer>,
  header: string,
): Promise<boolean> {
  const given = header.split(' ').flatMap((part) => {
    const [, text] = pattern.exec(part) ?? []
    return text === undefined ? [] : [text]
  })
  for (const text of given) {
    if (await crypto.subtle.verify(algorithm, key, decodeBase64(text), content)) return true
  }
  return false
}

/** The reason why a message was refused. Stable: switch on it. */
export type WebhookErrorCode = keyof typeof messages

const messages = {
  invalid_secret:
    'The secret must be whsec_ and base64 on one line. A file may end with a line break that ' +
    'is not part of the secret.',
  invalid_public_key: 'The public key must be whpk_ and the base64 of 32 bytes.',
  no_web_crypto:
    'This runtime has no Web Cryptography (crypto.subtle). Node has it from version 20, a page ' +
    'over https or on localhost.',
  missing_header: 'The message lacks webhook-id, webhook-timestamp or webhook-signature.',
  wrong_time: "By this machine's clock, the message is too old or from the future.",
  invalid_signature: 'The message is not signed with this secret, or was changed.',
  malformed_body: 'The body is not a JSON message.',
} as const

/** The only deliberate error of this library. It contains no secret. */
export class WebhookError extends Error {
  readonly code: WebhookErrorCode

  constructor(code: WebhookErrorCode) {
    super(messages[code])
    this.name = 'WebhookError'
    this.code = code
  }
}
