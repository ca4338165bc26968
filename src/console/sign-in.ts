import { randomBytes } from 'node:crypto'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { toMembers } from '../domain/members.ts'
import { isRole, type Role } from '../domain/person.ts'
import { type CallerAddresses, toNetwork } from '../listeners/http/caller-address.ts'
import { html } from '../listeners/http/html.ts'
import { pageHeaders } from '../listeners/http/page-headers.ts'
import type { RateLimiter } from '../listeners/http/rate-limit.ts'
import {
  beginSession,
  failedSignInRecorder,
  recordMissingRole,
  signOut,
} from '../operations/people/people.ts'
import { addressHoldsPan } from './address.ts'
import { sendPage } from './answers.ts'
import { findFormerAnswer, storeOneTimeAnswer } from './notice.ts'
import { type Exchange, storePendingSignIn, takePendingSignIn } from './pending-sign-ins.ts'
import type { OperatorIssuer, SandboxPerson } from './people-issuer.ts'
import type { RelyingParty } from './relying-party.ts'
import { type Page, path } from './screen.ts'
import {
  cookieName,
  findSession,
  parseForm,
  readSecret,
  refuseForeignForm,
  type SessionOptions,
} from './session.ts'

/** The dependencies of signing in. */
export interface SignInOptions extends SessionOptions {
  readonly relyingParty: RelyingParty
  readonly callers: CallerAddresses
  /**
   * Limits sign-ins by address, since each sends requests to the issuer. Null if limits are off.
   */
  readonly rate: RateLimiter | null
  /**
   * The people of a sandbox that only this machine can reach, whose sign-in page lists them; null
   * elsewhere.
   */
  readonly listedPeople: readonly SandboxPerson[] | null
}

const config = { access: 'open', notRepeatable: 'a repeated sign-in begins again' } as const
const schema = { hide: true }

/** The routes for signing in and out. */
export function signInRoutes(mounted: FastifyInstance, options: SignInOptions): void {
  const { callers, people, rate, relyingParty, url } = options
  const sessionCookie = cookieName(url)
  const recordFailure = failedSignInRecorder(people)
  // Lax, since the redirect from the issuer comes from another site. A GET changes nothing.
  const cookie = {
    path: '/',
    httpOnly: true,
    secure: url.startsWith('https:'),
    sameSite: 'lax',
  } as const

  mounted.get('/console/sign-in', { config, schema }, async (request, reply) => {
    rate?.spend(toNetwork(callers.findAddress(request.raw)))
    const { again, as, to } = toMembers(request.query)
    const secret = randomBytes(32).toString('base64url')
    const hint = typeof as === 'string' && as !== '' ? as : null
    if (options.listedPeople && hint === null && again !== 'yes') {
      return sendPage(reply, choosePersonPage(options.listedPeople, ownPath(to)))
    }
    const address = await relyingParty.begin(secret, { again: again === 'yes', hint })
    const state = address.searchParams.get('state') ?? ''
    storePendingSignIn({ request, reply }, { state, url }, { secret, to: ownPath(to) }, cookie)
    return reply.redirect(address.href, 303)
  })

  mounted.get('/console/sign-in/callback', { config, schema }, async (request, reply) => {
    rate?.spend(toNetwork(callers.findAddress(request.raw)))
    const { state } = toMembers(request.query)
    const pending = takePendingSignIn({ request, reply }, { state, url }, cookie)
    const to = ownPath(pending?.to)
    if (pending === null) return refuseSignIn(options, { request, reply }, 'not_proved', to)
    const query = request.url.slice(request.url.indexOf('?') + 1)
    const outcome = await relyingParty.finish(pending.secret, query)
    if (typeof outcome === 'string') {
      await recordFailure(outcome)
      return refuseSignIn(options, { request, reply }, outcome, to)
    }
    if (outcome.roles.length === 0) {
      await recordMissingRole(people, outcome, request.id)
      const advice = 'Ask the administrator of roles at your company.'
      return sendPage(reply, notSignedIn(`${outcome.name} has no role here. ${advice}`))
    }
    const former = readSecret(options, request)
    const answer = former && (await findFormerAnswer(people, former, outcome.personId))
    const session = await beginSession(people, outcome, {
      signInSecret: pending.secret,
      formerSecret: former,
      requestId: request.id,
    })
    if (session === null) return sendPage(reply, notSignedIn(reasons.not_proved))
    if (answer) await storeOneTimeAnswer(people, session, answer)
    return reply.setCookie(sessionCookie, session, cookie).redirect(to, 303)
  })

  mounted.post('/console/sign-out', { config, schema }, async (request, reply) => {
    const session = await findSession(options, request)
    if (session) {
      refuseForeignForm(options, request, session, parseForm(request.body))
      await signOut(people, session.secret, request.id)
    }
    reply.clearCookie(sessionCookie, cookie)
    return sendPage(reply, { title: 'You are signed out', body: signInLink })
  })
}

/** Answers a sign-in that failed. Of several tabs, another one may have signed in. */
async function refuseSignIn(
  options: SessionOptions,
  { request, reply }: Exchange,
  reason: keyof typeof reasons,
  to: string,
): Promise<FastifyReply> {
  const isSignedIn = reason === 'not_proved' && (await findSession(options, request)) !== null
  return isSignedIn ? reply.redirect(to, 303) : sendPage(reply, notSignedIn(reasons[reason]))
}

/** The tasks of the people of each role. */
const roleTexts: Readonly<Record<Role, string>> = {
  viewer: 'Viewer: reads cards and payments',
  support: 'Support: freezes and unblocks cards',
  'support-lead': 'Support lead: support, audits and approves',
  'key-officer': 'Key officer: rotates keys, holds ceremonies',
  'security-officer': 'Security officer: administers and approves',
  auditor: 'Auditor: verifies what was done',
  developer: 'Developer: reads cards, webhooks and keys',
}

/** The page of a sandbox on which a visitor chooses who signs in. */
const choosePersonPage = (people: readonly SandboxPerson[], to: string): Page => ({
  title: 'Sign in to the sandbox',
  body: html`<p>The sandbox has no passwords. Choose who you are.</p>
    <ul class="people">${people.map(
      ({ groups, link, name }) =>
        html`<li>
          <a href="${path`/console/sign-in?as=${link}&to=${to}`}">
            <b>${name}</b> <span>${groups.map((role) => isRole(role) && roleTexts[role])}</span>
          </a>
        </li>`,
    )}</ul>
    <p class="hint">
      Acts that need an approval need two people: use a private window for the second one.
    </p>`,
})

const signInLink = html`<p><a class="button" href="/console/sign-in">Sign in</a></p>`

const reasons = {
  not_proved:
    'The sign-in took too long, began in another browser, or was completed before. Sign in again.',
  refused_by_issuer: 'The identity provider refused the sign-in.',
} as const

const notSignedIn = (why: string) => ({
  title: 'The sign-in failed',
  status: 403,
  body: html`<p>${why}</p>${signInLink}`,
})

/**
 * Returns a path of the console on this listener, so that no request can redirect a person
 * elsewhere, and without a card number.
 */
function ownPath(to: unknown): string {
  const base = 'http://console.invalid'
  const url = typeof to === 'string' && URL.canParse(to, base) ? new URL(to, base) : null
  // A redirect to the sign-in would loop.
  const isPage = /^\/console(?:\/(?!sign-|issuer\/).*)?$/.test(url?.pathname ?? '')
  const isAllowed = isPage && !addressHoldsPan(`${url?.pathname}${url?.search}`)
  return url?.origin === base && isAllowed ? `${url.pathname}${url.search}` : '/console'
}

/** The sandbox's own issuer, on this listener. */
export function issuerRoutes(mounted: FastifyInstance, issuer: OperatorIssuer): void {
  const handler = async (request: FastifyRequest, reply: FastifyReply) => {
    const headers = Object.entries(request.headers).filter(([, value]) => typeof value === 'string')
    const answered = await issuer.answer({
      method: request.method,
      path: request.url,
      headers: Object.fromEntries(headers) as Record<string, string>,
      body: typeof request.body === 'string' ? request.body : '',
    })
    return reply
      .code(answered.status)
      .headers({ ...pageHeaders, ...answered.headers })
      .send(answered.body)
  }
  mounted.route({ method: ['GET', 'POST'], url: '/console/issuer/*', config, schema, handler })
}
