import { randomBytes } from 'node:crypto'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { beginSession, recordFailedSignIn, signOut } from '../../operations/people/people.ts'
import {
  type ConsoleOptions,
  cookieName,
  parseForm,
  refuseForeignForm,
  sendPage,
  sessionOf,
} from './console.ts'
import { html } from './html.ts'
import type { PeopleIssuer } from './people-issuer.ts'

const config = { access: 'open', notRepeatable: 'a sign-in is begun anew' } as const
const schema = { hide: true }

/** How long somebody may take to sign in with the issuer. */
const signInSeconds = 600

/** Signing in and out. */
export function signInRoutes(mounted: FastifyInstance, options: ConsoleOptions): void {
  const { people, relyingParty, url } = options
  const [sessionCookie, signInCookie] = [cookieName(url), cookieName(url, '-sign-in')]
  const cookie = {
    path: '/',
    httpOnly: true,
    sameSite: 'lax',
    secure: url.startsWith('https:'),
  } as const

  mounted.get('/console/sign-in', { config, schema }, async (request, reply) => {
    const { again, as, to } = Object(request.query)
    const secret = randomBytes(32).toString('base64url')
    const hint = typeof as === 'string' ? as : null
    const address = await relyingParty.begin(secret, { again: again === 'yes', hint })
    const value = `${secret}.${Buffer.from(ownPath(to)).toString('base64url')}`
    return reply
      .setCookie(signInCookie, value, { ...cookie, maxAge: signInSeconds })
      .redirect(address.href, 303)
  })

  mounted.get('/console/sign-in/callback', { config, schema }, async (request, reply) => {
    const [secret = '', to = ''] = (request.cookies[signInCookie] ?? '').split('.')
    reply.clearCookie(signInCookie, cookie)
    const query = request.url.slice(request.url.indexOf('?') + 1)
    const person = /^[A-Za-z0-9_-]{43}$/.test(secret)
      ? await relyingParty.finish(secret, query)
      : null
    if (!person) {
      await recordFailedSignIn(people, null, 'not_proved', request.id)
      return sendPage(
        reply,
        notSignedIn(
          'The sign-in was not finished, or took too long, or was begun in another browser.',
        ),
      )
    }
    if (person.roles.length === 0) {
      await recordFailedSignIn(people, person.personId, 'no_role', request.id)
      return sendPage(
        reply,
        notSignedIn(
          `${person.name} has no role here. Ask whoever gives out roles at your company.`,
        ),
      )
    }
    const session = await beginSession(people, person, secret, request.id)
    return reply
      .setCookie(sessionCookie, session, cookie)
      .redirect(ownPath(Buffer.from(to, 'base64url').toString()), 303)
  })

  mounted.post('/console/sign-out', { config, schema }, async (request, reply) => {
    const session = await sessionOf(options, request)
    if (session) {
      refuseForeignForm(options, request, session, parseForm(request.body))
      await signOut(people, session.secret, request.id)
    }
    reply.clearCookie(sessionCookie, cookie)
    return sendPage(reply, { title: 'You are signed out', body: signInAgain })
  })
}

const signInAgain = html`<p><a href="/console/sign-in">Sign in</a></p>`

const notSignedIn = (why: string) => ({
  title: 'Nobody was signed in',
  status: 403,
  body: html`<p>${why}</p>${signInAgain}`,
})

/** A path of the console on this very listener, whatever was asked for: nobody is led elsewhere. */
function ownPath(to: unknown): string {
  const base = 'http://console.invalid'
  if (typeof to !== 'string' || !URL.canParse(to, base)) return '/console'
  const { origin, pathname, search } = new URL(to, base)
  return origin === base &&
    /^\/console(?:\/|$)/.test(pathname) &&
    !pathname.startsWith('/console/sign-')
    ? `${pathname}${search}`
    : '/console'
}

/** The sandbox's own issuer, on this listener. */
export function issuerRoutes(mounted: FastifyInstance, issuer: PeopleIssuer): void {
  const answer = async (request: FastifyRequest, reply: FastifyReply) => {
    const headers = Object.entries(request.headers).filter(([, value]) => typeof value === 'string')
    const {
      body,
      headers: answered,
      status,
    } = await issuer.answer({
      method: request.method,
      path: request.url,
      headers: Object.fromEntries(headers) as Record<string, string>,
      body: typeof request.body === 'string' ? request.body : '',
    })
    return reply
      .code(status)
      .headers({ ...answered, 'x-frame-options': 'DENY', 'content-security-policy': issuerPolicy })
      .send(body)
  }
  mounted.route({
    method: ['GET', 'POST'],
    url: '/console/issuer/*',
    config,
    schema,
    handler: answer,
  })
}

const issuerPolicy =
  "default-src 'none'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
