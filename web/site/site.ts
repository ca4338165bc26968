import { createHash, randomBytes } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'

/** A request to a site, independent of the server. */
export interface SiteRequest {
  /** `HEAD` is handled as `GET`. */
  readonly method: string
  /** Without the query. */
  readonly path: string
  readonly headers: IncomingHttpHeaders
  /** Unchanged, in UTF-8. */
  readonly body: string
}

export interface SiteAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** A handler of all requests under its own path. */
export interface Site {
  answer(request: SiteRequest): Promise<SiteAnswer>
}

export const jsonAnswer = (
  status: number,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): SiteAnswer => ({
  status,
  headers: { ...headers, 'content-type': 'application/json; charset=utf-8' },
  body: JSON.stringify(body),
})

/** Composes a refusal in the form of the service's own failures (RFC 9457). */
export const refusal = (status: number, code: string, title: string): SiteAnswer => ({
  status,
  headers: { 'content-type': 'application/problem+json; charset=utf-8' },
  body: JSON.stringify({ title, status, code }),
})

/**
 * The headers of all answers of a site. They forbid loading from elsewhere, framing, and code from
 * text.
 * @param keysUrl the URL of the service's keys, the only foreign one.
 */
export function siteHeaders(keysUrl: string): Readonly<Record<string, string>> {
  const keysOrigin = URL.canParse(keysUrl) ? ` ${new URL(keysUrl).origin}` : ''
  const policy = [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data:",
    `connect-src 'self'${keysOrigin}`,
    "base-uri 'none'",
    // A form without its script would put the typed PIN into a URL.
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ]
  return {
    'content-security-policy': policy.join('; '),
    'cache-control': 'no-store',
    'cross-origin-opener-policy': 'same-origin',
    'cross-origin-resource-policy': 'same-origin',
    'permissions-policy': 'camera=(), geolocation=(), microphone=(), payment=(), usb=()',
    'referrer-policy': 'no-referrer',
    'x-content-type-options': 'nosniff',
    'x-frame-options': 'DENY',
  }
}

/** One browser, which stands for a cardholder's login in a real client system. */
export interface Session {
  /** The `customerReference` of this browser's cards. It does not reveal the cookie. */
  readonly reference: string
}

const cookieName = 'pinfold-demo'

/** Returns the session of a request, or null. */
export function findSession({ headers }: SiteRequest): Session | null {
  const cookies = (headers.cookie ?? '').split(/;\s*/)
  const value = cookies.find((cookie) => cookie.startsWith(`${cookieName}=`))?.split('=')[1]
  if (value === undefined || !/^[A-Za-z0-9_-]{43}$/.test(value)) return null
  const digest = createHash('sha256').update(value).digest('hex').slice(0, 20)
  // Letters only: a long run of digits could look like a card number.
  return {
    reference: `demo-${digest.replaceAll(/[0-9]/g, (digit) => letters[Number(digit)] ?? '')}`,
  }
}

const letters = 'ghijklmnop'

/**
 * Returns the header that begins a session. The cookie is the whole session; nothing is stored
 * here.
 */
export function beginSession(path: string, isSecure: boolean): string {
  const value = randomBytes(32).toString('base64url')
  const secure = isSecure ? '; Secure' : ''
  return `${cookieName}=${value}; Path=${path}; HttpOnly; SameSite=Strict${secure}`
}

/**
 * Whether a request comes from the site's own pages, or is a person opening a page of it.
 *
 * Browsers say where a call comes from, and no page can make them lie: `Sec-Fetch-Site` (Fetch
 * Metadata) with every call, `Origin` with every POST. A cookie's `SameSite` alone would not do:
 * another port of this machine is the same site.
 */
export function isSameOrigin({ headers, method }: SiteRequest): boolean {
  const { host, origin } = headers
  if (origin !== undefined && !matchesHost(origin, host)) return false
  if (method !== 'GET') return origin !== undefined && isFromHere(headers['sec-fetch-site'])
  return isFromHere(headers['sec-fetch-site']) || isOpened(headers)
}

const isFromHere = (site: unknown): boolean =>
  site === undefined || site === 'same-origin' || site === 'none'

/**
 * A link elsewhere may open a page in a window of its own, which is hidden from the linking page.
 */
const isOpened = (headers: SiteRequest['headers']): boolean =>
  headers['sec-fetch-mode'] === 'navigate' && headers['sec-fetch-dest'] === 'document'

const matchesHost = (origin: string, host: string | undefined): boolean =>
  URL.canParse(origin) && host !== undefined && new URL(origin).host === host.toLowerCase()
