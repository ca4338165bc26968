import { createHash, randomBytes } from 'node:crypto'
import type { SiteRequest } from './site.ts'

/** One browser, as the relay knows it: stands where a real client system has its cardholder's login. */
export interface Session {
  /** The `customerReference` of this browser's cards. It does not tell the cookie. */
  readonly reference: string
}

const cookieName = 'pinfold-demo'

/** The session of a request, or null. */
export function sessionOf({ headers }: SiteRequest): Session | null {
  const cookies = (headers.cookie ?? '').split(/;\s*/)
  const value = cookies.find((cookie) => cookie.startsWith(`${cookieName}=`))?.split('=')[1]
  if (value === undefined || !/^[A-Za-z0-9_-]{43}$/.test(value)) return null
  const digest = createHash('sha256').update(value).digest('hex').slice(0, 20)
  // Letters only: a reference with a long run of digits could be taken for a card number.
  return {
    reference: `demo-${digest.replaceAll(/[0-9]/g, (digit) => letters[Number(digit)] ?? '')}`,
  }
}

const letters = 'ghijklmnop'

/** The header that begins a session. Nothing is kept here: the cookie is all there is of it. */
export function beginSession(path: string, isSecure: boolean): string {
  const value = randomBytes(32).toString('base64url')
  const secure = isSecure ? '; Secure' : ''
  return `${cookieName}=${value}; Path=${path}; HttpOnly; SameSite=Strict${secure}`
}
