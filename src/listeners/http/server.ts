import { createServer as createHttpServer, type RequestListener } from 'node:http'
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import Fastify, {
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  LogController,
} from 'fastify'
import type { Logger } from 'pino'
import { Problem, validationFailed } from '../../domain/problem.ts'
import type { AccessTokenVerifier } from '../oauth/access-token-verifier.ts'
import { authenticate } from './authentication.ts'
import { type CallerAddresses, toNetwork } from './caller-address.ts'
import { type Connections, serverRules } from './connections.ts'
import { type Admissions, boundInFlight } from './in-flight.ts'
import { jsonInUtf8, unsupportedMediaType } from './media-type.ts'
import { findRoute, type Metrics } from './metrics.ts'
import { createPathRefuser } from './paths.ts'
import * as problems from './problems.ts'
import type { RateLimiter } from './rate-limit.ts'
import * as requests from './request.ts'
import { compilersOnFirstUse } from './route-compilers.ts'
import type { TlsServers } from './tls.ts'
import { refuseUnnamed } from './validation.ts'

/** A format of strings that schemas name, and the sentence for what does not have it. */
export interface StringFormat {
  readonly detail: string
  validate(text: string): boolean
}

export interface ServerOptions {
  /** Names the listener in logs and metrics. */
  readonly listener: 'public' | 'private'
  /** What the paths of most operations begin with; absent where they have nothing in common. */
  readonly base?: string
  readonly log: Logger
  readonly metrics: Metrics
  readonly verifier: AccessTokenVerifier
  readonly callers: CallerAddresses
  /** Nothing where limits are turned off. */
  readonly rate: RateLimiter | null
  readonly admissions: Admissions
  /** For what needs no token, by address; nothing where limits are turned off. */
  readonly openRate: RateLimiter | null
  readonly formats: Readonly<Record<string, StringFormat>>
  /** A keyed hash, as text, that stands for a request id on record. */
  readonly hashRequestId: (requestId: string) => Promise<string>
  /** `Host` headers that are answered; null answers all. */
  readonly hosts: ReadonlySet<string> | null
  /** Null: plain HTTP. */
  readonly tls: TlsServers | null
  readonly connections: Connections
}

/** A server whose routes are typed by their schemas. */
export type Server = ReturnType<typeof createServer>

/**
 * A server, or a scope of one, as plugins take it: its types of schemas and of the log say more
 * than Fastify's own.
 */
export const plainInstance = (app: object): FastifyInstance => app as FastifyInstance

/**
 * A server without routes: limits, headers, authentication, problem documents, logs and metrics,
 * the same on both listeners.
 */
export function createServer(options: ServerOptions) {
  const formats = Object.entries(options.formats)
  const details = Object.fromEntries(formats.map(([name, { detail }]) => [name, detail]))
  const app = Fastify({
    loggerInstance: options.log,
    logController: new LogController({
      disableRequestLogging: true,
    }),
    // A logger for each request costs more than its one line, which names the request by itself.
    childLoggerFactory: (logger) => logger,
    bodyLimit: problems.bodyLimit,
    serverFactory: serverFactory(options),
    // As long as a URL may be: an identifier that is too long is simply not there, behind the
    // token.
    routerOptions: { maxParamLength: problems.urlLimit },
    genReqId: requests.chooseRequestId,
    frameworkErrors: (error, request, reply) => {
      setCommonHeaders(request, reply)
      problems.replyWithProblem(details)(error, request, reply)
    },
    // The framework would put it on the first server of a listener alone: `serverFactory` does on
    // all.
    clientErrorHandler: () => undefined,
    schemaController: { compilersFactory: compilersOnFirstUse() },
    // Bad input is refused, never repaired.
    ajv: {
      customOptions: {
        allErrors: true,
        coerceTypes: false,
        removeAdditional: false,
        useDefaults: false,
        keywords: ['x-secret'],
        formats: Object.fromEntries(formats.map(([name, { validate }]) => [name, { validate }])),
      },
    },
  }).withTypeProvider<TypeBoxTypeProvider>()
  const unrouted = createPathRefuser(plainInstance(app), problems.urlLimit, options.base ?? null)
  app.decorateRequest('caller', null)
  app.setErrorHandler(problems.replyWithProblem(details))
  app.setNotFoundHandler({}, (_, reply) => problems.sendProblem(reply, new Problem('not_found')))
  acceptJsonOnly(plainInstance(app))
  addHooks(plainInstance(app), options, unrouted)
  refuseUnnamed(plainInstance(app))
  return app
}

/** Makes the servers of the listener: of `localhost` it has one for each address. */
const serverFactory =
  ({ connections, tls }: Pick<ServerOptions, 'connections' | 'tls'>) =>
  (handler: RequestListener) => {
    const server =
      tls?.create(handler) ??
      createHttpServer({ ...serverRules, maxHeaderSize: problems.headerLimit }, handler)
    server.on('clientError', problems.answerClientError)
    // One that is not known may be passed over (RFC 9110 section 10.1.1). Node would answer it by
    // itself.
    server.on('checkExpectation', handler)
    connections.watch(server)
    return server
  }

function acceptJsonOnly(app: FastifyInstance): void {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser(
    jsonInUtf8,
    { parseAs: 'buffer' },
    async (request: FastifyRequest, body: Buffer) => {
      if (request.headers['content-encoding']) throw unsupportedMediaType(request.headers)
      return requests.parseJsonBody(body)
    },
  )
}

function setCommonHeaders(request: FastifyRequest, reply: FastifyReply): void {
  reply.headers({
    'cache-control': 'no-store',
    'x-request-id': requests.givenRequestId(request) ?? request.id,
    'api-version': requests.apiVersion,
    'x-content-type-options': 'nosniff',
  })
}

/**
 * Records a keyed hash in the place of a request id that may hold a card number: in the log, and
 * with every act of the request. Without an HSM it stays under the id that was made for it.
 */
async function hashRiskyRequestId(
  { hashRequestId }: ServerOptions,
  request: FastifyRequest,
): Promise<void> {
  const risky = requests.riskyRequestId(request)
  const hashed = risky && (await hashRequestId(risky).catch(() => null))
  if (hashed) Object.assign(request, { id: hashed })
}

function addHooks(
  app: FastifyInstance,
  options: ServerOptions,
  unrouted: (request: FastifyRequest) => Problem,
): void {
  app.addHook('onRequest', async (request, reply) => {
    await hashRiskyRequestId(options, request)
    setCommonHeaders(request, reply)
    const { anyHost = false } = request.routeOptions.config
    const hasNoHost = request.headers.host === undefined
    if (!requests.isHostClear(request.raw) && !(anyHost && hasNoHost)) {
      // Whom the next request on this connection is for is not clear either.
      reply.header('connection', 'close')
      throw new Problem('malformed_request', { detail: 'The header Host must occur once.' })
    }
    // A page elsewhere whose name resolves to this machine must not get to speak to it.
    const isNamed = anyHost || !options.hosts || options.hosts.has(request.host.toLowerCase())
    if (!isNamed) throw new Problem('misdirected_request')
    if (request.url.length > problems.urlLimit) {
      throw new Problem('malformed_request', {
        detail: `The URL exceeds the limit of ${problems.urlLimit} characters.`,
      })
    }
  })
  app.addHook('onRequest', async (request, reply) => {
    const { access, limitsItself } = request.routeOptions.config
    // Whoever asks for what is not there needs no token, either.
    const isForAnybody = request.is404 || (access === 'open' && limitsItself !== true)
    if (options.openRate && isForAnybody) {
      const network = toNetwork(options.callers.findAddress(request.raw))
      reply.headers(options.openRate.spend(network))
    }
    // Before its body is read, which would else be checked by a route that is not there.
    if (request.is404) throw unrouted(request)
  })
  app.addHook('onRequest', authenticate(options.verifier, options.rate))
  boundInFlight(app, options.admissions)
  app.addHook('preParsing', async (request) => {
    requests.refuseOtherVersion(request.headers)
    const { notRepeatable, repeatable } = request.routeOptions.config
    if (repeatable || notRepeatable !== undefined) requests.parseIdempotencyKey(request.headers)
  })
  app.addHook('preValidation', async (request) => {
    if (request.routeOptions.config.bodyRequired && request.body === undefined) {
      throw new Problem('malformed_request', {
        detail: 'The request has no body. Send a JSON object.',
      })
    }
  })
  app.addHook('preHandler', async (request) => {
    const faults = requests.bodyFaults(request)
    if (faults.length > 0) throw validationFailed(...faults)
  })
  app.addHook('onResponse', async (request, reply) => {
    options.metrics.observe(options.listener, request, reply)
    logAnswer(options.listener, request, reply)
  })
}

/** Names the route by its pattern: what a caller puts in a path or query stays out of the log. */
function logAnswer(listener: string, request: FastifyRequest, reply: FastifyReply): void {
  request.log.info(
    {
      requestId: request.id,
      listener,
      method: request.method,
      route: findRoute(request),
      status: reply.statusCode,
      durationMs: Math.round(reply.elapsedTime * 10) / 10,
      clientId: request.caller?.clientId,
      traceId: requests.parseTraceId(request.headers) ?? undefined,
    },
    'answered',
  )
}
