import { createServer as createHttpServer, type RequestListener } from 'node:http'
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import Fastify, {
  type FastifyError,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  LogController,
} from 'fastify'
import type { Logger } from 'pino'
import { Problem, validationFailed } from '../../domain/problem.ts'
import type { AccessTokenVerifier } from '../oauth/access-token-verifier.ts'
import { authenticate } from './authentication.ts'
import { type CallGate, holdAtGate } from './call-gate.ts'
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

/** A string format that schemas name, and the sentence for a value without it. */
export interface StringFormat {
  readonly detail: string
  validate(text: string): boolean
}

export interface ServerOptions {
  /** The name of the listener in logs and metrics. */
  readonly listener: 'public' | 'private'
  /** The common prefix of most operations; absent without one. */
  readonly base?: string
  readonly log: Logger
  readonly metrics: Metrics
  readonly verifier: AccessTokenVerifier
  readonly callers: CallerAddresses
  /** Null if limits are off. */
  readonly rate: RateLimiter | null
  readonly admissions: Admissions
  /** Holds calls back while a sandbox is restored; null in production. */
  readonly gate: CallGate | null
  /** The limit by address for routes without a token; null if limits are off. */
  readonly openRate: RateLimiter | null
  readonly formats: Readonly<Record<string, StringFormat>>
  /** Computes a keyed hash that replaces a request id in records. */
  readonly hashRequestId: (requestId: string) => Promise<string>
  /** The accepted `Host` headers; null accepts all. */
  readonly hosts: ReadonlySet<string> | null
  /** Null for plain HTTP. */
  readonly tls: TlsServers | null
  readonly connections: Connections
  /**
   * Answers a URL that is not percent-encoded UTF-8, which no route answers; returns null for the
   * usual answer.
   */
  readonly answerBadUrl?: AnswerBadUrl
}

export type AnswerBadUrl = (
  error: FastifyError,
  request: FastifyRequest,
  reply: FastifyReply,
) => FastifyReply | null

/** A server whose routes are typed by their schemas. */
export type Server = ReturnType<typeof createServer>

/**
 * A server, or a scope of one, in the type that plugins expect: its types of schemas and of the log
 * are more specific than Fastify's.
 */
export const plainInstance = (app: object): FastifyInstance => app as FastifyInstance

/**
 * Creates a server without routes: limits, headers, authentication, problem documents, logs and
 * metrics, the same on both listeners.
 */
export function createServer(options: ServerOptions) {
  const formats = Object.entries(options.formats)
  const details = Object.fromEntries(formats.map(([name, { detail }]) => [name, detail]))
  const app = Fastify({
    loggerInstance: options.log,
    logController: new LogController({
      disableRequestLogging: true,
    }),
    // A logger per request costs more than its single line, which names the request anyway.
    childLoggerFactory: (logger) => logger,
    bodyLimit: problems.bodyLimit,
    serverFactory: serverFactory(options),
    // As long as a URL may be: an identifier that is too long is answered like an unknown one,
    // after authentication.
    routerOptions: { maxParamLength: problems.urlLimit },
    genReqId: requests.chooseRequestId,
    frameworkErrors: (error, request, reply) => {
      setCommonHeaders(request, reply)
      const answered = options.answerBadUrl?.(error, request, reply) ?? null
      if (answered === null) problems.replyWithProblem(details)(error, request, reply)
    },
    // The framework would set it only on the first server of a listener; `serverFactory` sets it on
    // all.
    clientErrorHandler: () => undefined,
    schemaController: { compilersFactory: compilersOnFirstUse() },
    // Answers are not validated. Members of a union differ by type, never by format alone.
    serializerOpts: { ajv: { validateFormats: false } },
    // Invalid input is rejected, never repaired.
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

/** Creates the servers of the listener: `localhost` has one for each address. */
const serverFactory =
  ({ connections, tls }: Pick<ServerOptions, 'connections' | 'tls'>) =>
  (handler: RequestListener) => {
    const server =
      tls?.create(handler) ??
      createHttpServer({ ...serverRules, maxHeaderSize: problems.headerLimit }, handler)
    server.on('clientError', problems.answerClientError)
    // An unknown expectation may be ignored (RFC 9110 section 10.1.1). Node would answer it itself.
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
      if (request.routeOptions.config.keepsBody) requests.keepBody(request, body)
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
 * Replaces a request id that may contain a card number with a keyed hash, in the log and in every
 * act of the request. Without an HSM, the id that the service generated is used.
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
      // The host of the next request on this connection is unclear, too.
      reply.header('connection', 'close')
      throw new Problem('malformed_request', { detail: 'The header Host must occur once.' })
    }
    // A foreign page whose name resolves to this machine must not reach the service.
    const isNamed = anyHost || !options.hosts || options.hosts.has(request.host.toLowerCase())
    if (!isNamed) {
      throw new Problem('misdirected_request', {
        detail: 'Use the URL that the service printed at its start, or add the name to HOST_NAMES.',
      })
    }
    if (request.url.length > problems.urlLimit) {
      throw new Problem('malformed_request', {
        detail: `The URL exceeds the limit of ${problems.urlLimit} characters.`,
      })
    }
  })
  app.addHook('onRequest', async (request, reply) => {
    const { access, limitsItself } = request.routeOptions.config
    // An unknown path is answered without a token.
    const isForAnybody = request.is404 || (access === 'open' && limitsItself !== true)
    if (options.openRate && isForAnybody) {
      const network = toNetwork(options.callers.findAddress(request.raw))
      reply.headers(options.openRate.spend(network))
    }
    // Before the body is read, which a missing route cannot check.
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
  if (options.gate) holdAtGate(app, options.gate)
  app.addHook('onResponse', async (request, reply) => {
    options.metrics.observe(options.listener, request, reply)
    logAnswer(options.listener, request, reply)
  })
}

/** Logs the route by its pattern: paths and queries from callers stay out of the log. */
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
