import type { CookieSerializeOptions } from '@fastify/cookie'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { cookieName } from './session.ts'

/**
 * A sign-in that the browser has begun. Each has a cookie of its own, because a browser that
 * restores its tabs begins several at once.
 */
interface PendingSignIn {
  readonly secret: string
  /** The page after the sign-in. */
  readonly to: string
}

/** A request and its answer. */
export interface Exchange {
  readonly request: FastifyRequest
  readonly reply: FastifyReply
}

/** The time limit of a sign-in at the issuer. */
const signInSeconds = 600

/** More cookies could exceed the maximum size of the headers of a request. */
const pendingMost = 12
const pathLengthMost = 500

/** Returns the name of a sign-in's cookie, by the `state` that returns from the issuer. */
const pendingName = (url: string, state: string): string =>
  cookieName(url, `-sign-in-${state.slice(0, 16)}`)

const isState = (text: unknown): text is string =>
  typeof text === 'string' && /^[A-Za-z0-9_-]{43}$/.test(text)

/** Stores a sign-in in the browser. The oldest ones are deleted if there are too many. */
export function storePendingSignIn(
  { request, reply }: Exchange,
  { state, url }: { readonly state: string; readonly url: string },
  { secret, to }: PendingSignIn,
  cookie: CookieSerializeOptions,
): void {
  const pending = Object.keys(request.cookies).filter((name) =>
    /^(?:__Host-)?pinfold-sign-in-/.test(name),
  )
  // A browser sends the oldest cookie first (RFC 6265 section 5.4).
  for (const name of pending.slice(0, Math.max(0, pending.length - pendingMost + 1))) {
    reply.clearCookie(name, cookie)
  }
  const [path = ''] = to.split('?')
  const page = [to, path].find(({ length }) => length <= pathLengthMost) ?? '/console'
  reply.setCookie(pendingName(url, state), `${secret}.${Buffer.from(page).toString('base64url')}`, {
    ...cookie,
    maxAge: signInSeconds,
  })
}

/** Takes the sign-in with this `state` from the browser; null if the browser has not begun it. */
export function takePendingSignIn(
  { request, reply }: Exchange,
  { state, url }: { readonly state: unknown; readonly url: string },
  cookie: CookieSerializeOptions,
): PendingSignIn | null {
  if (!isState(state)) return null
  const name = pendingName(url, state)
  const [secret = '', to = ''] = (request.cookies[name] ?? '').split('.')
  reply.clearCookie(name, cookie)
  if (!/^[A-Za-z0-9_-]{43}$/.test(secret)) return null
  return { secret, to: Buffer.from(to, 'base64url').toString() }
}
