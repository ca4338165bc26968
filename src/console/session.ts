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
  const secret = readSecret({ url }, request)
  if (secret === null) return null
  const isVisit = request.headers['sec-fetch-dest'] !== 'empty'
  const session = await findConsoleSession(people, secret, isVisit)
  return session && { ...session, secret }
}

/** Returns the secret in a request's cookie, whether its session is open or not; null without. */
export function readSecret(
  { url }: Pick<SessionOptions, 'url'>,
  request: { readonly cookies?: FastifyRequest['cookies'] },
): string | null {
  // A request that is refused by its host has no parsed cookies.
  const secret = request.cookies?.[cookieName(url)]
  return secret !== undefined && /^[A-Za-z0-9_-]{43}$/.test(secret) ? secret : null
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

/** Whether a form has the token of a session. */
export function holdsFormToken({ secret }: Pick<CookieSession, 'secret'>, form: Form): boolean {
  const expected = Buffer.from(deriveFormToken(secret))
  const given = Buffer.from(form[formFieldNames.token] ?? '')
  return given.length === expected.length && timingSafeEqual(given, expected)
}

/** Whether a page of this console sent a form, as the browser says. */
export function isFromOwnPage(
  { url }: Pick<SessionOptions, 'url'>,
  { headers, host, protocol }: FastifyRequest,
): boolean {
  const site = headers['sec-fetch-site']
  // A sandbox without TLS has several names; requests for other names were refused before.
  const own = [new URL(url).origin, ...(url.startsWith('http:') ? [`${protocol}://${host}`] : [])]
  return (
    (site === undefined || site === 'same-origin') &&
    (headers.origin === undefined ? site !== undefined : own.includes(headers.origin))
  )
}

/**
 * Refuses a form of another page or another sign-in (CSRF), by the browser's Origin and its token.
 * @throws `Problem` `malformed_request`
 */
export function refuseForeignForm(
  options: Pick<SessionOptions, 'url'>,
  request: FastifyRequest,
  session: Pick<CookieSession, 'secret'>,
  form: Form,
): void {
  if (!holdsFormToken(session, form) || !isFromOwnPage(options, request)) throw foreignForm()
}

/** Returns the refusal of a form that no page of this sign-in has. */
export const foreignForm = (): Problem =>
  new Problem('malformed_request', {
    detail: 'The form was not sent from a page of this console, or belongs to another sign-in.',
  })

/** Parses the fields of a form, and trims them, so that a blank reason is empty. */
export function parseForm(body: unknown): Form {
  const form = new Map<string, string>()
  for (const [name, typed] of new URLSearchParams(typeof body === 'string' ? body : '')) {
    const value = typed.trim()
    const before = form.get(name)
    form.set(name, before === undefined ? value : `${before}\n${value}`)
  }
  return Object.fromEntries(form)
}
