import { randomBytes } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import Fastify, { type FastifyInstance } from 'fastify'
import { exportJWK, generateKeyPair, type JWK } from 'jose'
import { LRUCache } from 'lru-cache'
import Provider, {
  type AdapterFactory,
  type AdapterPayload,
  type Configuration,
  errors,
  interactionPolicy,
  type ResourceServer,
  type UnknownObject,
} from 'oidc-provider'
import { html } from '../listeners/http/html.ts'
import { pageHeaders } from '../listeners/http/page-headers.ts'
import { layout } from './layout.ts'

/** A person of the sandbox. Anyone with the link signs in as that person, without a password. */
export interface SandboxPerson {
  readonly subject: string
  readonly name: string
  readonly groups: readonly string[]
  /** The end of the link that signs in as this person. */
  readonly link: string
}

/** A request to the issuer and its answer, as sent between processes. */
export interface IssuerExchange {
  readonly method: string
  /** With its query. */
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}
export interface IssuerAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[]>>
  readonly body: string
}

/** An issuer of identities in this process. */
export interface OperatorIssuer {
  answer(exchange: IssuerExchange): Promise<IssuerAnswer>
}

interface OperatorIssuerOptions {
  /** Its URL; all of its paths begin with the URL's path. */
  readonly issuer: string
  readonly clientId: string
  readonly redirectUri: string
  readonly people: readonly SandboxPerson[]
  /** `aud` of the access tokens that it issues to people. */
  readonly audience: string
  /** The maximum number of records of each kind. */
  readonly keptMost?: typeof keptMostUsually
}

/** The client ID of the command line at the sandbox's issuer. */
const commandLineClientId = 'pinfold-cli'

/** The lifetime of its sessions. */
const sessionSeconds = 8 * 3_600

/**
 * The sandbox's own issuer of identities (OpenID Connect Core 1.0), so that people sign in there as
 * with any other issuer. Its state is in memory, and it is created at the first request.
 */
export function createOperatorIssuer(options: OperatorIssuerOptions): OperatorIssuer {
  const { host, protocol } = new URL(options.issuer)
  let made: Promise<FastifyInstance> | null = null
  return {
    async answer({ body, headers, method, path }) {
      made ??= createApp(options)
      const { 'content-type': contentType, authorization, cookie, accept } = headers
      const sent = { 'content-type': contentType, authorization, cookie, accept }
      const answer = await (await made).inject({
        method: method as 'GET',
        url: path,
        headers: {
          ...Object.fromEntries(Object.entries(sent).filter(([, value]) => value !== undefined)),
          host,
          'x-forwarded-proto': protocol.slice(0, -1),
        },
        payload: body,
      })
      const handedOn = [
        'content-type',
        'location',
        'set-cookie',
        'www-authenticate',
        'content-security-policy',
      ]
      return {
        status: answer.statusCode,
        // The listener sets the other headers.
        headers: Object.fromEntries(
          Object.entries(answer.headers)
            .filter(([name]) => handedOn.includes(name))
            .map(([name, value]) => [name, Array.isArray(value) ? value : String(value)]),
        ),
        body: answer.payload,
      }
    },
  }
}

/** Creates the library's routes and ours, which only the listener can reach. */
async function createApp(options: OperatorIssuerOptions): Promise<FastifyInstance> {
  const { pathname } = new URL(options.issuer)
  const { privateKey } = await generateKeyPair('ES256', { extractable: true })
  const kid = randomBytes(8).toString('base64url')
  const key = { ...(await exportJWK(privateKey)), alg: 'ES256', use: 'sig', kid }
  const provider = new Provider(options.issuer, createConfiguration(options, key))
  provider.proxy = true
  const app = Fastify()
  // The library parses bodies itself.
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', (_request, _payload, done) => done(null))
  app.setErrorHandler((_, _request, reply) =>
    reply
      .code(400)
      .type('text/html; charset=utf-8')
      .send(String(renderPage(signInExpired, signInLink))),
  )
  interactionRoutes(app, provider, options, pathname)
  const callback = provider.callback()
  app.all(`${pathname}/*`, async ({ raw }, reply) => {
    reply.hijack()
    const mounted: IncomingMessage & { originalUrl?: string } = raw
    mounted.originalUrl = raw.url ?? ''
    mounted.url = mounted.originalUrl.slice(pathname.length)
    // A sign-in link ends the session of another person.
    if (/^\/auth\?.*\blogin_hint=/.test(mounted.url)) {
      const name = cookieNames(options).session
      mounted.headers.cookie = (raw.headers.cookie ?? '').replaceAll(`${name}=`, 'former=')
      reply.raw.setHeader('set-cookie', [`${name}=; path=/; max-age=0`])
    }
    await callback(mounted, reply.raw)
  })
  await app.ready()
  return app
}

/**
 * The most records of each kind that the library stores: of persons who are signed in, and of all
 * other callers.
 */
const keptMostUsually = { signedIn: 10_000, anonymous: 2_000 }

const keptStore = (max: number) => new LRUCache<string, AdapterPayload>({ max })

/**
 * Stores the library's records in memory. A record is deleted when it expires, or as the oldest of
 * its kind when there are too many. A flood of anonymous calls displaces anonymous records only,
 * never those of a person who is signed in.
 */
function memoryAdapter({ keptMost = keptMostUsually }: OperatorIssuerOptions): AdapterFactory {
  return () => {
    const signedIn = keptStore(keptMost.signedIn)
    const anonymous = keptStore(keptMost.anonymous)
    const stores = [signedIn, anonymous]
    const find = async (isIt: (payload: AdapterPayload) => boolean) =>
      stores.flatMap((store) => [...store.values()]).find(isIt)
    return {
      async upsert(id, payload, expiresInSeconds) {
        const isOfSomebody = (payload.accountId ?? payload.session?.accountId) !== undefined
        const [store, other] = isOfSomebody ? [signedIn, anonymous] : [anonymous, signedIn]
        other.delete(id)
        store.set(id, payload, { ttl: (expiresInSeconds ?? sessionSeconds) * 1_000 })
      },
      find: async (id) => signedIn.get(id) ?? anonymous.get(id),
      findByUid: (uid) => find((payload) => payload.uid === uid),
      findByUserCode: (userCode) => find((payload) => payload.userCode === userCode),
      async consume(id) {
        const payload = signedIn.get(id) ?? anonymous.get(id)
        Object.assign(payload ?? {}, { consumed: Math.floor(Date.now() / 1_000) })
      },
      async destroy(id) {
        for (const store of stores) store.delete(id)
      },
      async revokeByGrantId(grantId) {
        for (const store of stores) {
          for (const [id, payload] of store) if (payload.grantId === grantId) store.delete(id)
        }
      },
    }
  }
}

const createConfiguration = (options: OperatorIssuerOptions, key: JWK): Configuration => ({
  adapter: memoryAdapter(options),
  clients: listClients(options),
  jwks: { keys: [key] },
  scopes: ['openid', 'profile', 'groups'],
  claims: { openid: ['sub'], profile: ['name'], groups: ['groups'] },
  conformIdTokenClaims: false,
  responseTypes: ['code'],
  pkce: { required: () => true },
  ttl: { Session: sessionSeconds, Grant: sessionSeconds, Interaction: 600, IdToken: 300 },
  findAccount: (_ctx, subject) => {
    const person = options.people.find((each) => each.subject === subject)
    if (!person) return undefined
    const { groups, name } = person
    return { accountId: subject, claims: () => ({ sub: subject, name, groups: [...groups] }) }
  },
  // The console needs no consent; other clients do.
  async loadExistingGrant({ oidc }) {
    const grant = new oidc.provider.Grant({
      clientId: oidc.client?.clientId,
      accountId: oidc.session?.accountId,
    })
    grant.addOIDCScope('openid profile groups')
    await grant.save()
    return grant
  },
  // RFC 9068 section 2.2: an access token contains the caller and the time of authentication.
  extraTokenClaims: ({ oidc }) => {
    const { AuthorizationCode: code } = oidc.entities
    const person = options.people.find(({ subject }) => subject === code?.accountId)
    return { auth_time: code?.authTime, name: person?.name, groups: person?.groups }
  },
  interactions: createInteractions(options),
  cookies: {
    keys: [randomBytes(32).toString('base64url')],
    names: cookieNames(options),
  },
  features: {
    devInteractions: { enabled: false },
    rpInitiatedLogout: { enabled: false },
    userinfo: { enabled: false },
    resourceIndicators: accessTokensFor(options.audience),
  },
  renderError: (ctx, { error, error_description }) => {
    ctx.type = 'html'
    const why = `The sign-in failed: ${error_description ?? error}.`
    ctx.body = String(renderPage(why, signInLink))
  },
})

/** With the port, since the ports of a host share cookies. */
function cookieNames({ issuer }: OperatorIssuerOptions) {
  const { port } = new URL(issuer)
  const name = (purpose: string) => `pinfold-issuer-${purpose}-${port}`
  return { session: name('session'), interaction: name('interaction'), resume: name('resume') }
}

/** Issues access tokens for the private listener only. */
const accessTokensFor = (audience: string) => ({
  enabled: true,
  defaultResource: () => audience,
  useGrantedResource: () => true,
  getResourceServerInfo(_ctx: unknown, resource: string): ResourceServer {
    if (resource !== audience) throw new errors.InvalidTarget()
    const jwt = { sign: { alg: 'ES256' as const } }
    return { audience, scope: '', accessTokenTTL: 900, accessTokenFormat: 'jwt', jwt }
  },
})

/**
 * The clients: the console, and the command line, which is redirected to a port of its own (RFC
 * 8252 section 7.3).
 */
const listClients = ({ clientId, redirectUri }: OperatorIssuerOptions): Configuration['clients'] =>
  [
    { client_id: clientId, redirect_uris: [redirectUri] },
    {
      client_id: commandLineClientId,
      application_type: 'native' as const,
      redirect_uris: ['http://127.0.0.1/callback'],
    },
  ].map((client) => ({
    ...client,
    token_endpoint_auth_method: 'none' as const,
    response_types: ['code' as const],
    grant_types: ['authorization_code'],
    id_token_signed_response_alg: 'ES256' as const,
  }))

/**
 * A sign-in link signs in its person, even if another person is signed in. A client other than the
 * console gets a code only after the person agrees: the command line is called back at any port of
 * this machine, where another program may listen.
 */
function createInteractions({
  clientId,
  issuer,
}: OperatorIssuerOptions): Configuration['interactions'] {
  const policy = interactionPolicy.base()
  const isLinkFollowed = new interactionPolicy.Check(
    'link_followed',
    'A link says who signs in',
    'login_required',
    ({ oidc }) => oidc.params?.login_hint !== undefined && !oidc.result?.login,
  )
  policy.get('login')?.checks.add(isLinkFollowed)
  const isOtherClient = new interactionPolicy.Check(
    'other_client',
    'Another client than the console requests the sign-in',
    'interaction_required',
    ({ oidc }) => oidc.client?.clientId !== clientId && !oidc.result?.consent,
  )
  policy.get('consent')?.checks.remove('native_client_prompt')
  policy.get('consent')?.checks.add(isOtherClient)
  return { policy, url: (_ctx, { uid }) => `${new URL(issuer).pathname}/interaction/${uid}` }
}

const renderPage = (text: string, form = html``) =>
  layout({ title: 'Sign in to the sandbox', body: html`<p>${text}</p>${form}` }, null)

const signInExpired = 'The sign-in took too long, or was completed before. Begin it again.'
const signInLink = html`<p><a class="button" href="/console/sign-in">Sign in</a></p>`

/** The answer to a person who is not known. */
const linksNeeded =
  'Follow one of the links that the start printed under “Sign-in links of the console”. Each ' +
  'link signs in one person with one role. The file sandbox.json in DATA_DIR lists all links.'

/**
 * A sign-in link signs in its person at once. A signed-in person who must sign in again confirms
 * it.
 */
function interactionRoutes(
  app: FastifyInstance,
  provider: Provider,
  { people }: OperatorIssuerOptions,
  pathname: string,
): void {
  const path = `${pathname}/interaction/:uid`
  app.get(path, async ({ raw }, reply) => {
    const { params, prompt, session } = await provider.interactionDetails(raw, reply.raw)
    const known = people.find(({ subject }) => subject === session?.accountId)
    reply.type('text/html; charset=utf-8')
    if (prompt.name === 'consent' && known) {
      // Browsers apply the policy for form targets to the redirect after a form, too.
      const callback = new URL(String(params.redirect_uri)).origin
      const policy = pageHeaders['content-security-policy']
      reply.header(
        'content-security-policy',
        policy.replace("form-action 'self'", `form-action 'self' ${callback}`),
      )
      return String(consentPage(known, params, `${raw.url}/refuse`))
    }
    const linked = people.find(({ link }) => link === params.login_hint)
    if (linked) {
      reply.hijack()
      return provider.interactionFinished(raw, reply.raw, { login: { accountId: linked.subject } })
    }
    if (!known) return String(renderPage(linksNeeded))
    const form = html`<form method="post"><button>Sign in again as ${known.name}</button></form>`
    return String(renderPage('The sandbox has no passwords.', form))
  })
  app.post(path, async ({ raw }, reply) => {
    const { prompt, session } = await provider.interactionDetails(raw, reply.raw)
    if (!session)
      return reply
        .code(403)
        .type('text/html')
        .send(String(renderPage(linksNeeded)))
    reply.hijack()
    return provider.interactionFinished(
      raw,
      reply.raw,
      prompt.name === 'consent' ? { consent: {} } : { login: { accountId: session.accountId } },
    )
  })
  app.post(`${path}/refuse`, async ({ raw }, reply) => {
    reply.hijack()
    return provider.interactionFinished(raw, reply.raw, {
      error: 'access_denied',
      error_description: 'The person refused the request.',
    })
  })
}

/**
 * Asks the person's consent for a client. The page names the person, the client and the target of
 * the answer.
 */
const consentPage = (
  { name }: SandboxPerson,
  { client_id: asks, redirect_uri: to }: UnknownObject,
  refusal: string,
) =>
  renderPage(
    `The program ${String(asks)} at ${String(to)} asks to act as ${name}. Allow it only if you ` +
      'have just started it yourself.',
    html`<form method="post"><button>Allow it to act as ${name}</button></form>
      <form method="post" action="${refusal}"><button class="quiet">Refuse</button></form>`,
  )
