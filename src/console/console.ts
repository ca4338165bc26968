import cookie from '@fastify/cookie'
import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import type { Scope } from '../domain/client.ts'
import { type Members, toMembers } from '../domain/members.ts'
import { listPersonScopes, type Person } from '../domain/person.ts'
import { Problem } from '../domain/problem.ts'
import { listNeededScopes } from '../listeners/http/authentication.ts'
import { plainInstance, type Server } from '../listeners/http/server.ts'
import { addressHoldsPan } from './address.ts'
import {
  panInAddressPage,
  problemPage,
  readOnlyPage,
  refusedPage,
  sendFile,
  sendPage,
  sendProblemPage,
  signedOutPage,
  titleForPeople,
} from './answers.ts'
import { assetRoutes, type ReadAssets } from './asset-routes.ts'
import type { Frame } from './layout.ts'
import { parseAnswer } from './listener-answers.ts'
import { computeLiveVersion } from './live-version.ts'
import { consumeOneTimeAnswer, storeOneTimeAnswer } from './notice.ts'
import type { OperatorIssuer } from './people-issuer.ts'
import {
  type Act,
  type ApiAnswer,
  type Form,
  formFieldNames,
  type Page,
  type RefusedForm,
  type Screen,
  type Visit,
} from './screen.ts'
import {
  type CookieSession,
  deriveFormToken,
  findSession,
  foreignForm,
  holdsFormToken,
  isFromOwnPage,
  parseForm,
} from './session.ts'
import { issuerRoutes, type SignInOptions, signInRoutes } from './sign-in.ts'
import { readWaitingCount } from './waiting-approvals.ts'
import {
  omitSecrets,
  readAction,
  refusedAsRepeated,
  refusedSinceSignIn,
  refusedUntilSignIn,
  sendAgainForm,
  storeReason,
  storeWaitingForm,
} from './waiting-forms.ts'

/** A call of the private listener as a person. */
export interface PersonCall {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  readonly path: string
  readonly body: object | undefined
  readonly idempotencyKey: string | null
  readonly requestId: string
}

/** The dependencies of the console. */
export interface ConsoleOptions extends SignInOptions {
  /** The sandbox's own issuer; null with an outside issuer. */
  readonly peopleIssuer: OperatorIssuer | null
  readonly isSandbox: boolean
  readonly isReadOnly: boolean
  readonly screens: readonly Screen[]
  readonly acts: readonly Act[]
  readonly readAssets: ReadAssets
  /** Calls the private listener in this process. */
  callAs(person: Person, scopes: ReadonlySet<Scope>, call: PersonCall): Promise<ApiAnswer>
}

/** Route options: a cookie, never a token, identifies the person. */
const config = {
  access: 'open',
  notRepeatable: 'the key of a form is a member of the form',
} as const
const schema = { hide: true }

/**
 * Mounts the console's pages on the private listener, in a scope that parses forms instead of JSON.
 */
export function mountConsole(app: Server, options: ConsoleOptions): void {
  app.register(async (scope) => {
    const mounted = plainInstance(scope)
    mounted.register(cookie)
    mounted.removeAllContentTypeParsers()
    mounted.addContentTypeParser(
      /^application\/x-www-form-urlencoded(?:\s*;\s*charset="?utf-8"?)?\s*$/i,
      { parseAs: 'buffer' },
      async (_: unknown, body: Buffer) => body.toString('utf8'),
    )
    mounted.setErrorHandler((error: FastifyError, request, reply) =>
      sendProblemPage(error, request, reply, sendAgainForm(options, request)),
    )
    if (options.peopleIssuer) issuerRoutes(mounted, options.peopleIssuer)
    signInRoutes(mounted, options)
    assetRoutes(mounted, options.readAssets)
    for (const screen of options.screens) {
      mounted.get(screen.path, { config, schema }, (request, reply) =>
        showScreen(options, chooseScreen(screen, request), request, reply),
      )
    }
    for (const act of options.acts) {
      mounted.post(act.path, { config, schema }, (request, reply) =>
        performAct(options, act, request, reply),
      )
      // A page that answers a form has the address of the act.
      if (options.screens.some(({ path }) => path === act.path)) continue
      mounted.get(act.path, { config, schema }, (request, reply) =>
        reply.redirect(findFormPage(options, act, request), 303),
      )
    }
    mounted.get('/console/', { config, schema }, (_, reply) => reply.redirect('/console', 308))
    mounted.get('/console/*', { config, schema }, async (request, reply) => {
      if (!(await findSession(options, request))) throw new Problem('not_found')
      return showScreen(options, chooseScreen(missingScreen, request), request, reply)
    })
  })
}

/** The page at every address without a screen. */
const missingScreen: Screen = {
  path: '/console/*',
  access: 'anyone',
  navigation: null,
  async show() {
    throw new Problem('not_found')
  },
}

/** The page at every address that may contain a card number, which no screen reads or shows. */
const panInAddressScreen: Screen = {
  ...missingScreen,
  show: async () => panInAddressPage,
}

const chooseScreen = (screen: Screen, { url }: FastifyRequest): Screen =>
  addressHoldsPan(url) ? panInAddressScreen : screen

async function showScreen(
  options: ConsoleOptions,
  screen: Screen,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const session = await findSession(options, request)
  const isByScript = request.headers['sec-fetch-dest'] === 'empty'
  if (!session) {
    const to = screen === panInAddressScreen ? '/console' : request.url
    if (isByScript) return sendPage(reply, signedOutPage(to))
    return reply.redirect(`/console/sign-in?to=${encodeURIComponent(to)}`, 303)
  }
  const answer = isByScript
    ? null
    : await consumeOneTimeAnswer(options.people, session, request.url)
  const { kept = {}, waiting: action = null } = answer ?? {}
  const refused = action === null ? null : { action, problem: refusedUntilSignIn }
  const visit = createVisit(options, session, request, request.url, { kept, refused })
  const notice = answer?.notice ?? null
  // An open page that looks for changes does not show it.
  const waiting = isByScript ? 0 : visit.countWaitingApprovals()
  const finishFrame = async () => ({
    ...createFrame(options, visit, notice),
    waitingApprovals: await waiting,
  })
  try {
    const page = allows(visit, screen.access)
      ? await screen.show(visit)
      : refusedPage(screen.access)
    if (page.file) return sendFile(reply, page.file)
    const version = computeLiveVersion(page.body)
    const isKnown = version !== null && request.headers['if-none-match'] === `"${version}"`
    return isKnown ? reply.code(304).send() : sendPage(reply, page, await finishFrame())
  } catch (error) {
    return sendPage(reply, problemPage(error, request), await finishFrame())
  }
}

async function performAct(
  options: ConsoleOptions,
  act: Act,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const form = parseForm(request.body)
  const session = await findSession(options, request)
  const here = findFormPage(options, act, request)
  if (!session) {
    const isStored = await storeWaitingForm(options, request, here, form)
    return sendPage(reply, signedOutPage(here, isStored))
  }
  if (!isFromOwnPage(options, request)) throw foreignForm()
  const formKey = form[formFieldNames.key] ?? null
  const visit = createVisit(options, session, request, here, { formKey })
  const frame = createFrame(options, visit)
  if (options.isReadOnly && !act.readsOnly) return sendPage(reply, readOnlyPage, frame)
  if (!allows(visit, act.access)) return sendPage(reply, refusedPage(act.access), frame)
  const sent = { act, request, reply, session, here, form }
  if (!holdsFormToken(session, form)) {
    return showFormAgain(options, sent, refusedSinceSignIn, foreignForm())
  }
  try {
    const outcome = await act.perform(visit, form)
    if (!('to' in outcome)) return sendPage(reply, outcome, frame)
    // A form cannot redirect a person to another site.
    if (!/^\/console(?:[/?#][!-[\]-~]*)?$/.test(outcome.to)) throw new Problem('malformed_request')
    const { kept = {}, notice = null, to } = outcome
    if (notice) {
      const answer = { to, notice, kept, waiting: null }
      await storeOneTimeAnswer(options.people, session.secret, answer)
    }
    return reply.redirect(to, 303)
  } catch (error) {
    if (error instanceof Problem && error.status === 401) {
      await storeReason(options, session, here, form)
    }
    return showFormAgain(options, sent, describeRefusal(error), error)
  }
}

/** A form that was sent. */
interface SentForm {
  readonly act: Act
  readonly request: FastifyRequest
  readonly reply: FastifyReply
  readonly session: CookieSession
  /** The page of the form. */
  readonly here: string
  readonly form: Form
}

/** Shows the page of a form with what was typed and why it was refused; otherwise the failure. */
async function showFormAgain(
  options: ConsoleOptions,
  { act, form, here, reply, request, session }: SentForm,
  refusal: RefusedForm['problem'] | null,
  error: unknown,
): Promise<FastifyReply> {
  const shown = createVisit(options, session, request, here, {
    kept: omitSecrets(form),
    refused: refusal && { action: readAction(request), problem: refusal },
  })
  const page = await showRefusedForm(options, act, shown)
  if (page) return sendPage(reply, page, createFrame(options, shown))
  const visit = createVisit(options, session, request, here, {})
  const sendAgain = refusal === null ? sendAgainForm(options, request) : null
  return sendPage(reply, problemPage(error, request, sendAgain), createFrame(options, visit))
}

/** Returns the refusal of a form that a person can mend; null for a failure of the service. */
function describeRefusal(error: unknown): RefusedForm['problem'] | null {
  if (!(error instanceof Problem) || error.status >= 500) return null
  if (error.code === 'idempotency_key_reused') return refusedAsRepeated
  const { code, detail, errors, status } = error
  const title = code === 'not_found' ? 'What was entered does not exist.' : titleForPeople(error)
  return { title, detail, errors, status }
}

/** Returns the page of a refused form again, or null if there is no such page. */
async function showRefusedForm(
  options: ConsoleOptions,
  act: Act,
  visit: Visit,
): Promise<Page | null> {
  const screen = findFormScreen(options, act)
  if (visit.refused === null || screen === null) return null
  const page = await screen.show(visit).catch(() => null)
  return page && { ...page, status: visit.refused.problem.status }
}

/** Creates the frame of a page, with the screens that the person may open. */
const createFrame = (
  { screens }: ConsoleOptions,
  visit: Visit,
  notice: Frame['notice'] = null,
): Frame => ({
  visit,
  notice,
  screens: screens.filter(({ access }) => allows(visit, access)),
  waitingApprovals: 0,
})

/** Returns the screen of a form: the one whose path is the longest prefix of the act's path. */
const findFormScreen = ({ screens }: Pick<ConsoleOptions, 'screens'>, act: Act): Screen | null =>
  screens
    .filter(({ path }) => act.path === path || act.path.startsWith(`${path}/`))
    .toSorted((one, other) => other.path.length - one.path.length)[0] ?? null

/**
 * Returns the page of a form, with the query that the page was read with. The act's own URL
 * leads to it, so it is not a target for a redirect.
 */
function findFormPage(options: ConsoleOptions, act: Act, { headers, url }: FastifyRequest): string {
  const depth = findFormScreen(options, act)?.path.split('/').length ?? 2
  const [address = ''] = url.split('?')
  const page = address.split('/').slice(0, depth).join('/')
  const { referer = '' } = headers
  const from = URL.canParse(referer) ? new URL(referer) : null
  const isFromPage = from?.origin === new URL(options.url).origin && from.pathname === page
  return isFromPage ? `${page}${from.search}` : page
}

/** The read-only remainder of each scope that changes something. */
const readingScopes: Partial<Record<Scope, readonly Scope[]>> = {
  admin: ['support.read', 'audit.read', 'keys.read'],
  'support.write': ['support.read'],
  'keys.write': ['keys.read'],
  approve: [],
}

function createVisit(
  { callAs, isReadOnly, isSandbox }: ConsoleOptions,
  { person, secret }: CookieSession,
  { id: requestId, params }: FastifyRequest,
  here: string,
  {
    formKey = null,
    kept = {},
    refused = null,
  }: Partial<Pick<Visit, 'kept' | 'refused'>> & { readonly formKey?: string | null },
): Visit {
  const held = [...listPersonScopes(person)]
  const scopes = new Set(
    isReadOnly ? held.flatMap((scope) => readingScopes[scope] ?? [scope]) : held,
  )
  let changes = 0
  const call: Visit['call'] = (method, path, body) => {
    if (method !== 'GET') changes += 1
    const isKeyed = formKey !== null && /^[\x21-\x7e]{1,200}$/.test(formKey)
    const idempotencyKey = isKeyed ? `${formKey}${changes === 1 ? '' : `-${changes}`}` : null
    return callAs(person, scopes, {
      method,
      path,
      body,
      requestId,
      idempotencyKey: method === 'GET' ? null : idempotencyKey,
    })
  }
  let waiting: Promise<number> | null = null
  const visit: Visit = {
    person,
    scopes,
    isSandbox,
    isReadOnly,
    formToken: deriveFormToken(secret),
    here,
    kept,
    refused,
    params: trimMembers(toMembers(params)),
    // Of the page, also where the request sent a form: the page of a refused form is shown again.
    query: parseQuery(here),
    call,
    async read(path, schema) {
      return parseAnswer(await call('GET', path), schema)
    },
    countWaitingApprovals() {
      waiting ??= readWaitingCount(visit)
      return waiting
    },
  }
  return visit
}

const allows = ({ scopes }: Visit, access: Screen['access']): boolean =>
  access === 'anyone' || listNeededScopes(access).some((scope) => scopes.has(scope))

/** Trims the members of a path or a query. */
const trimMembers = (members: Members): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(members).map(([name, value]) => [name, String(value).trim()]))

/** Parses the query of an address. Of repeated members, the last counts. */
const parseQuery = (address: string): Readonly<Record<string, string>> =>
  trimMembers(Object.fromEntries(new URL(address, 'http://console.invalid').searchParams))
