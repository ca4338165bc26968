import { WebhookError } from './webhook-error.ts'

/** A key of Web Crypto, in whatever runtime. */
type HmacKey = Awaited<ReturnType<typeof crypto.subtle.importKey>>

const algorithm = { name: 'HMAC', hash: 'SHA-256' } as const

/** The key in a secret. @throws WebhookError `invalid_secret`. */
export async function importSecret(secret: string): Promise<HmacKey> {
  const [, text] = /^whsec_([A-Za-z0-9+/]{32,88}={0,2})$/.exec(secret) ?? []
  if (text === undefined) throw new WebhookError('invalid_secret')
  const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0))
  return crypto.subtle.importKey('raw', bytes, algorithm, false, ['sign', 'verify'])
}

/** What is signed (Standard Webhooks 1.0.0). */
export const signedContent = (id: string, timestamp: string, body: string) =>
  new TextEncoder().encode(`${id}.${timestamp}.${body}`)

/** Signs a message. @returns base64. */
export async function sign(key: HmacKey, content: Uint8Array<ArrayBuffer>): Promise<string> {
  const signature = await crypto.subtle.sign('HMAC', key, content)
  return btoa(String.fromCharCode(...new Uint8Array(signature)))
}

/** Whether one of the signatures in a header is of this key. Compared in constant time. */
export async function isSignedBy(
  key: HmacKey,
  content: Uint8Array<ArrayBuffer>,
  header: string,
): Promise<boolean> {
  const given = header.split(' ').flatMap((part) => {
    const [, text] = /^v1,([A-Za-z0-9+/]{43}=)$/.exec(part) ?? []
    return text === undefined ? [] : [text]
  })
  for (const text of given) {
    const signature = Uint8Array.from(atob(text), (character) => character.charCodeAt(0))
    if (await crypto.subtle.verify('HMAC', key, signature, content)) return true
  }
  return false
}
