import { createHmac, timingSafeEqual } from 'node:crypto'
import type { FastifyRequest } from 'fastify'
import { Problem } from '../domain/problem.ts'
import {
  type ConsoleSession,
  findConsoleSession,
  type OperatorContext,
} from '../operations/people/people.ts'
import { type Form, formFieldNames } from './screen.ts'

/** How a session is identified. */
export interface SessionOptions {
  readonly people: OperatorContext
  /** The private listener's URL for browsers, without a trailing slash. */
  readonly url: string
}

/** A session, and the secret in its cookie. */
export interface CookieSession extends ConsoleSession {
  readonly secret: string
}

/**
 * Returns the session of a request's cookie, or null. A script's request does not prolong the
 * session.
 */
export async function findSession(
  { people, url }: SessionOptions,
  request: FastifyRequest,
): Promise<CookieSession | null> {
  const secret = request.cookies[cookieName(url)]
  if (secret === undefined || !/^[A-Za-z0-9_-]{43}$/.test(secret)) return null
  const isVisit = request.headers['sec-fetch-dest'] !== 'empty'
  const session = await findConsoleSession(people, secret, isVisit)
  return session && { ...session, secret }
}

/**
 * Returns the cookie's name. `__Host-`: set by this host alone, for all paths, with TLS (RFC
 * 6265bis section 4.1.3.2). Without TLS, in a sandbox, a plain name with the port, since the ports
 * of a host share cookies.
 */
export function cookieName(url: string, suffix = ''): string {
  const { port, protocol } = new URL(url)
  return protocol === 'https:' ? `__Host-pinfold${suffix}` : `pinfold${suffix}-${port || 80}`
}

/**
 * Derives the token that each form of a session must contain. Only the cookie's holder can know it.
 */
export const deriveFormToken = (secret: string): string =>
  createHmac('sha256', secret).update('form').digest('base64url')

/**
 * Refuses a form of another page (CSRF), by its token and by the browser's Origin.
 * @throws `Problem` `malformed_request`
 */
export function refuseForeignForm(
  { url }: Pick<SessionOptions, 'url'>,
  { headers, host, protocol }: FastifyRequest,
  { secret }: Pick<CookieSession, 'secret'>,
  form: Form,
): void {
  const expected = Buffer.from(deriveFormToken(secret))
  const given = Buffer.from(form[formFieldNames.token] ?? '')
  const isToken = given.length === expected.length && timingSafeEqual(given, expected)
  const site = headers['sec-fetch-site']
  // A sandbox without TLS has several names; requests for other names were refused before.
  const own = [new URL(url).origin, ...(url.startsWith('http:') ? [`${protocol}://${host}`] : [])]
  const isOwn =
    (site === undefined || site === 'same-origin') &&
    (headers.origin === undefined ? site !== undefined : own.includes(headers.origin))
  if (isToken && isOwn) return
  throw new Problem('malformed_request', {
    detail:
      'The form was not sent from a page of this console, or belongs to another sign-in. No ' +
      'change was made.',
  })
}

/** Parses the fields of a form. */
export function parseForm(body: unknown): Form {
  const form = new Map<string, string>()
  for (const [name, value] of new URLSearchParams(typeof body === 'string' ? body : '')) {
    const before = form.get(name)
    form.set(name, before === undefined ? value : `${before}\n${value}`)
  }
  return Object.fromEntries(form)
}
