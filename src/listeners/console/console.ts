import { createHmac, timingSafeEqual } from 'node:crypto'
import cookie from '@fastify/cookie'
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Scope } from '../../domain/client.ts'
import { type Person, roles, scopesOfPerson, scopesOfRole } from '../../domain/person.ts'
import { Problem, type ProblemCode, problemKinds } from '../../domain/problem.ts'
import {
  type ConsoleSession,
  findConsoleSession,
  type PeopleOperations,
} from '../../operations/people/people.ts'
import { scopesOfAccess } from '../http/authentication.ts'
import { publishedDocument, sendPublished } from '../http/published-document.ts'
import type { Server } from '../http/server.ts'
import { html } from './html.ts'
import { layout } from './layout.ts'
import type { PeopleIssuer } from './people-issuer.ts'
import type { RelyingParty } from './relying-party.ts'
import {
  type Act,
  type ApiAnswer,
  type Form,
  formFieldNames,
  type Page,
  type Screen,
  type Visit,
} from './screen.ts'
import { issuerRoutes, signInRoutes } from './sign-in.ts'

/** A call of the private listener as a person. */
export interface PersonCall {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  readonly path: string
  readonly body: object | undefined
  readonly idempotencyKey: string | null
  readonly requestId: string
}

/** What the console is made of. */
export interface ConsoleOptions {
  readonly people: PeopleOperations
  readonly relyingParty: RelyingParty
  /** The sandbox's own issuer; null where people sign in elsewhere. */
  readonly peopleIssuer: PeopleIssuer | null
  /** Where browsers reach the private listener, without a slash at its end. */
  readonly url: string
  readonly isSandbox: boolean
  readonly isReadOnly: boolean
  readonly screens: readonly Screen[]
  readonly acts: readonly Act[]
  /** What pages load from `/console/assets/`, by its name there. */
  readonly assets: Readonly<Record<string, { readonly mediaType: string; readonly text: string }>>
  /** Calls the private listener in this process. */
  callAs(person: Person, scopes: ReadonlySet<Scope>, call: PersonCall): Promise<ApiAnswer>
}

/** Of a page: it may load and send nothing elsewhere, and nobody may frame it. */
const pageHeaders = {
  'content-security-policy': [
    "default-src 'none'",
    ...["script-src 'self'", "style-src 'self'", "img-src 'self'", "connect-src 'self'"],
    ...["form-action 'self'", "base-uri 'none'", "frame-ancestors 'none'"],
    ...["require-trusted-types-for 'script'", "trusted-types 'none'"],
  ].join('; '),
  'x-frame-options': 'DENY',
  // Not `no-referrer`: browsers would send no Origin with a form, which is checked.
  'referrer-policy': 'same-origin',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy': 'camera=(), display-capture=(), geolocation=(), microphone=(), payment=()',
} as const

/** Config of each route: whoever may come in is found by the cookie, and never by a token. */
const config = { access: 'open', notRepeatable: 'a form carries its key in itself' } as const
const schema = { hide: true }

/** Puts the console's pages on the private listener, in a scope in which forms are read instead of JSON. */
export function mountConsole(app: Server, options: ConsoleOptions): void {
  app.register(async (scope) => {
    const mounted = scope as unknown as FastifyInstance
    mounted.register(cookie)
    mounted.removeAllContentTypeParsers()
    mounted.addContentTypeParser(
      /^application\/x-www-form-urlencoded(?:\s*;\s*charset="?utf-8"?)?\s*$/i,
      { parseAs: 'buffer' },
      async (_: unknown, body: Buffer) => body.toString('utf8'),
    )
    mounted.setErrorHandler((error: FastifyError, request, reply) =>
      sendProblemPage(error, request, reply),
    )
    if (options.peopleIssuer) issuerRoutes(mounted, options.peopleIssuer)
    signInRoutes(mounted, options)
    for (const [name, { mediaType, text }] of Object.entries(options.assets)) {
      const document = publishedDocument(mediaType, text)
      mounted.get(`/console/assets/${name}`, { config, schema }, async (request, reply) =>
        sendPublished(request, reply, document),
      )
    }
    for (const screen of options.screens) {
      mounted.get(screen.path, { config, schema }, (request, reply) =>
        showScreen(options, screen, request, reply),
      )
    }
    for (const act of options.acts) {
      mounted.post(act.path, { config, schema }, (request, reply) =>
        performAct(options, act, request, reply),
      )
    }
    mounted.get('/console/*', { config, schema }, async () => {
      throw new Problem('not_found')
    })
  })
}

async function showScreen(
  options: ConsoleOptions,
  screen: Screen,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const session = await sessionOf(options, request)
  if (!session) {
    const isByScript = request.headers['sec-fetch-dest'] === 'empty'
    if (isByScript) return sendPage(reply, signedOutPage(request.url))
    return reply.redirect(`/console/sign-in?to=${encodeURIComponent(request.url)}`, 303)
  }
  const visit = visitOf(options, session, request, null)
  const frame = { visit, screens: options.screens.filter(({ access }) => allows(visit, access)) }
  try {
    const page = allows(visit, screen.access)
      ? await screen.show(visit)
      : refusedPage(screen.access)
    return sendPage(reply, page, frame)
  } catch (error) {
    return sendPage(reply, problemPage(error, request), frame)
  }
}

async function performAct(
  options: ConsoleOptions,
  act: Act,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const form = parseForm(request.body)
  const session = await sessionOf(options, request)
  if (!session) return sendPage(reply, signedOutPage('/console'))
  refuseForeignForm(options, request, session, form)
  const visit = visitOf(options, session, request, form[formFieldNames.key] ?? null)
  const frame = { visit, screens: options.screens.filter(({ access }) => allows(visit, access)) }
  if (options.isReadOnly && !act.readsOnly) return sendPage(reply, readOnlyPage, frame)
  if (!allows(visit, act.access)) return sendPage(reply, refusedPage(act.access), frame)
  try {
    const outcome = await act.perform(visit, form)
    if ('to' in outcome) return reply.redirect(outcome.to, 303)
    return sendPage(reply, outcome, frame)
  } catch (error) {
    return sendPage(reply, problemPage(error, request), frame)
  }
}

/** A session, and the secret in its cookie. */
interface CookieSession extends ConsoleSession {
  readonly secret: string
}

/** The session of a request's cookie, or null. Pages that ask by script keep none open. */
export async function sessionOf(
  { people, url }: Pick<ConsoleOptions, 'people' | 'url'>,
  request: FastifyRequest,
): Promise<CookieSession | null> {
  const secret = request.cookies[cookieName(url)]
  if (secret === undefined || !/^[A-Za-z0-9_-]{43}$/.test(secret)) return null
  const isVisit = request.headers['sec-fetch-dest'] !== 'empty'
  const session = await findConsoleSession(people, secret, isVisit)
  return session && { ...session, secret }
}

/**
 * `__Host-`: set by this host alone, for all of it, over TLS (RFC 6265bis section 4.1.3.2). Without TLS, which is a sandbox, a
 * plain name, with the port: cookies of one host are common to all of its ports.
 */
export function cookieName(url: string, suffix = ''): string {
  const { port, protocol } = new URL(url)
  return protocol === 'https:' ? `__Host-pinfold${suffix}` : `pinfold${suffix}-${port || 80}`
}

/** What a form of this session must have in it: nobody without the cookie can know it. */
const formTokenOf = (secret: string): string =>
  createHmac('sha256', secret).update('form').digest('base64url')

/**
 * Refuses a form that another page sent (CSRF): by its token, and by where the browser says that it comes from.
 * @throws `Problem` `malformed_request`
 */
export function refuseForeignForm(
  { url }: Pick<ConsoleOptions, 'url'>,
  { headers, host, protocol }: FastifyRequest,
  { secret }: Pick<CookieSession, 'secret'>,
  form: Form,
): void {
  const expected = Buffer.from(formTokenOf(secret))
  const given = Buffer.from(form[formFieldNames.token] ?? '')
  const isToken = given.length === expected.length && timingSafeEqual(given, expected)
  const site = headers['sec-fetch-site']
  const own = [new URL(url).origin, `${protocol}://${host}`]
  const isOwn =
    (site === undefined || site === 'same-origin') &&
    (headers.origin === undefined ? site !== undefined : own.includes(headers.origin))
  if (isToken && isOwn) return
  throw new Problem('malformed_request', {
    detail:
      'The form was not sent from a page of this console, or of another sign-in. Nothing was done.',
  })
}

/** The fields of a form. */
export function parseForm(body: unknown): Form {
  const form = new Map<string, string>()
  for (const [name, value] of new URLSearchParams(typeof body === 'string' ? body : '')) {
    const before = form.get(name)
    form.set(name, before === undefined ? value : `${before}\n${value}`)
  }
  return Object.fromEntries(form)
}

/** What each scope that changes something leaves of itself where nothing may be changed. */
const readingScopes: Partial<Record<Scope, readonly Scope[]>> = {
  admin: ['support.read', 'audit.read', 'keys.read'],
  'support.write': ['support.read'],
  'keys.write': ['keys.read'],
  approve: [],
}

function visitOf(
  { callAs, isReadOnly, isSandbox }: ConsoleOptions,
  { person, secret }: CookieSession,
  { id: requestId, params, query, url }: FastifyRequest,
  formKey: string | null,
): Visit {
  const held = [...scopesOfPerson(person)]
  const scopes = new Set(
    isReadOnly ? held.flatMap((scope) => readingScopes[scope] ?? [scope]) : held,
  )
  let calls = 0
  const call: Visit['call'] = (method, path, body) => {
    calls += 1
    const isKeyed = formKey !== null && /^[\x21-\x7e]{1,200}$/.test(formKey)
    const idempotencyKey = isKeyed ? `${formKey}${calls === 1 ? '' : `-${calls}`}` : null
    return callAs(person, scopes, {
      ...{ method, path, body, requestId },
      idempotencyKey: method === 'GET' ? null : idempotencyKey,
    })
  }
  return {
    ...{ person, scopes, isSandbox, isReadOnly, formToken: formTokenOf(secret), here: url },
    params: Object(params),
    query: Object.fromEntries(
      Object.entries(Object(query)).map(([name, value]) => [name, String([value].flat().at(-1))]),
    ),
    call,
    async read(path) {
      const answer = await call('GET', path)
      if (answer.status >= 400) throw problemOfAnswer(answer)
      return answer.body as never
    },
  }
}

const allows = ({ scopes }: Visit, access: Screen['access']): boolean =>
  access === 'anyone' || scopesOfAccess(access).some((scope) => scopes.has(scope))

/** The failure that the private listener answered. */
export function problemOfAnswer({ body, status }: ApiAnswer): Problem {
  const { code, detail, errors } = Object(body)
  if (typeof code !== 'string' || !Object.hasOwn(problemKinds, code)) {
    return new Problem('internal_error', { cause: new Error(`It was answered ${status}.`) })
  }
  return new Problem(code as ProblemCode, { detail, errors })
}

/** Sends a page with all headers of one. */
export const sendPage = (
  reply: FastifyReply,
  page: Page,
  frame: Parameters<typeof layout>[1] = null,
): FastifyReply =>
  reply
    .code(page.status ?? 200)
    .headers(pageHeaders)
    .type('text/html; charset=utf-8')
    .send(String(layout(page, frame)))

const refusedPage = (access: Screen['access']): Page => {
  const needed = access === 'anyone' ? [] : scopesOfAccess(access)
  const allowed = roles.filter((role) => scopesOfRole[role].some((each) => needed.includes(each)))
  return {
    title: 'Not for your role',
    status: 403,
    body: html`<p>This is for ${allowed.join(', ') || 'nobody'}. Ask whoever gives out roles at your company.</p>`,
  }
}

const readOnlyPage: Page = {
  title: 'This console may only be read',
  status: 403,
  body: html`<p>Nothing was done: CONSOLE_READ_ONLY is set where the service runs.</p>`,
}

const signedOutPage = (to: string): Page => ({
  title: 'You are signed out',
  status: 401,
  body: html`<p>Nothing was done. <a href="/console/sign-in?to=${encodeURIComponent(to)}">Sign in</a></p>`,
})

function problemPage(error: unknown, { id, log }: FastifyRequest): Page {
  const problem = error instanceof Problem ? error : new Problem('internal_error', { cause: error })
  if (problem.status >= 500)
    log.error({ requestId: id, err: problem.cause ?? problem }, problem.title)
  return {
    title: problem.title,
    status: problem.status,
    body: html`${problem.detail && html`<p>${problem.detail}</p>`}<ul>${(problem.errors ?? []).map(
      ({ detail, pointer }) => html`<li>${pointer} ${detail}</li>`,
    )}</ul><p>Request ${id}</p>`,
  }
}

/** What the framework refuses is answered as elsewhere, in a page. */
function sendProblemPage(error: FastifyError, request: FastifyRequest, reply: FastifyReply) {
  const code = error.code === 'FST_ERR_CTP_BODY_TOO_LARGE' ? 'body_too_large' : 'malformed_request'
  const isFrameworks = !(error instanceof Problem) && (error.statusCode ?? 500) < 500
  const page = problemPage(isFrameworks ? new Problem(code) : error, request)
  if (error instanceof Problem) reply.headers(error.headers)
  return sendPage(reply, page)
}
