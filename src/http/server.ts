import { createServer as createHttpServer, type RequestListener } from 'node:http'
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import Fastify, {
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  LogController,
} from 'fastify'
import type { Logger } from 'pino'
import { Problem, validationFailed } from '../errors.ts'
import type { AccessTokenVerifier } from '../oauth/access-token-verifier.ts'
import { authenticate } from './authentication.ts'
import { bodyFaults } from './body-rules.ts'
import { type CallerAddresses, networkOf } from './caller-address.ts'
import { answerClientError } from './client-error.ts'
import type { RateLimiter } from './client-rate.ts'
import { type Connections, serverRules } from './connections.ts'
import { type Admissions, boundInFlight } from './in-flight.ts'
import { parseJsonBody } from './json-body.ts'
import { refuseOtherMethods } from './method-not-allowed.ts'
import { type Metrics, routeOf } from './metrics.ts'
import { bodyLimit, headerLimit, replyWithProblem, sendProblem, urlLimit } from './problem-reply.ts'
import {
  apiVersion,
  givenRequestId,
  idempotencyKeyOf,
  refuseOtherVersion,
  refuseUnclearHost,
  requestIdOf,
  riskyRequestId,
  traceIdOf,
} from './request-headers.ts'
import { compilersOnFirstUse } from './route-compilers.ts'
import { refuseUnnamed } from './strict-input.ts'
import type { TlsServers } from './tls-servers.ts'
import type { FormatDetails } from './validation-errors.ts'

/** A format of strings that schemas name, and the sentence for what does not have it. */
export interface StringFormat {
  readonly detail: string
  validate(text: string): boolean
}

export interface ServerOptions {
  /** Names the listener in logs and metrics. */
  readonly listener: 'public' | 'private'
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
 * A server without routes: limits, headers, authentication, problem documents, logs and metrics, the
 * same on both listeners. `finish` is called when every route is there.
 */
export function createServer(options: ServerOptions) {
  const details = formatDetails(options.formats)
  const app = Fastify({
    loggerInstance: options.log,
    logController: new LogController({
      disableRequestLogging: true,
      requestIdLogLabel: 'requestId',
    }),
    bodyLimit,
    serverFactory: serverFactory(options),
    // As long as a URL may be: an identifier that is too long is simply not there, behind the token.
    routerOptions: { maxParamLength: urlLimit },
    genReqId: requestIdOf,
    frameworkErrors: (error, request, reply) => {
      setCommonHeaders(request, reply)
      replyWithProblem(details)(error, request, reply)
    },
    // The framework would put it on the first server of a listener alone: `serverFactory` does on all.
    clientErrorHandler: () => undefined,
    schemaController: { compilersFactory: compilersOnFirstUse() },
    ajv: { customOptions: ajvOptions(options.formats) },
  }).withTypeProvider<TypeBoxTypeProvider>()
  const refuseOthers = refuseOtherMethods(app as unknown as FastifyInstance)
  app.decorateRequest('caller', null)
  app.setErrorHandler(replyWithProblem(details))
  app.setNotFoundHandler({}, (_, reply) => sendProblem(reply, new Problem('not_found')))
  acceptJsonOnly(app as unknown as FastifyInstance)
  addHooks(app as unknown as FastifyInstance, options)
  refuseUnnamed(app as unknown as FastifyInstance)
  return { app, finish: refuseOthers }
}

/** Makes the servers of the listener: of `localhost` it has one for each address. */
const serverFactory =
  ({ connections, tls }: Pick<ServerOptions, 'connections' | 'tls'>) =>
  (handler: RequestListener) => {
    const server =
      tls?.create(handler) ??
      createHttpServer({ ...serverRules, maxHeaderSize: headerLimit }, handler)
    server.on('clientError', answerClientError)
    // One that is not known may be passed over (RFC 9110 section 10.1.1). Node would answer it by itself.
    server.on('checkExpectation', handler)
    connections.watch(server)
    return server
  }

const formatDetails = (formats: ServerOptions['formats']): FormatDetails =>
  Object.fromEntries(Object.entries(formats).map(([name, { detail }]) => [name, detail]))

/** Bad input is refused, never repaired. */
const ajvOptions = (formats: ServerOptions['formats']) => ({
  allErrors: true,
  coerceTypes: false as const,
  removeAdditional: false,
  useDefaults: false,
  keywords: ['x-secret'],
  formats: Object.fromEntries(
    Object.entries(formats).map(([name, { validate }]) => [name, { validate }]),
  ),
})

function acceptJsonOnly(app: FastifyInstance): void {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser(
    /^application\/json(?:\s*;\s*charset="?utf-8"?)?\s*$/i,
    { parseAs: 'buffer' },
    async (request: FastifyRequest, body: Buffer) => {
      if (request.headers['content-encoding']) throw new Problem('unsupported_media_type')
      return parseJsonBody(body)
    },
  )
}

function setCommonHeaders(request: FastifyRequest, reply: FastifyReply): void {
  reply.headers({
    'cache-control': 'no-store',
    'x-request-id': givenRequestId(request) ?? request.id,
    'api-version': apiVersion,
    'x-content-type-options': 'nosniff',
  })
}

/**
 * Puts a keyed hash on record in the place of a request id that may hold a card number: in the log, and
 * wherever an act tells of its request. Without an HSM it stays under the id that was made for it.
 */
async function hashRiskyRequestId(
  { hashRequestId, log }: ServerOptions,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> {
  const risky = riskyRequestId(request)
  const hashed = risky && (await hashRequestId(risky).catch(() => null))
  if (!hashed) return
  const own = log.child({ requestId: hashed })
  Object.assign(request, { id: hashed, log: own })
  Object.assign(reply, { log: own })
}

function addHooks(app: FastifyInstance, options: ServerOptions): void {
  app.addHook('onRequest', async (request, reply) => {
    await hashRiskyRequestId(options, request, reply)
    setCommonHeaders(request, reply)
    refuseUnclearHost(request.raw)
    refuseUnknownHost(options.hosts, request)
    if (request.url.length > urlLimit) {
      throw new Problem('malformed_request', { detail: `A URL may have ${urlLimit} characters.` })
    }
  })
  app.addHook('onRequest', async (request, reply) => {
    if (options.openRate && isForAnybody(request)) {
      const network = networkOf(options.callers.addressOf(request.raw))
      reply.headers(options.openRate.spend(network))
    }
    // Before its body is read, which would else be judged by a route that is not there.
    if (request.is404) throw new Problem('not_found')
  })
  app.addHook('onRequest', authenticate(options.verifier, options.rate))
  boundInFlight(app, options.admissions)
  app.addHook('preParsing', async (request) => {
    refuseOtherVersion(request.headers)
    const { notRepeatable, repeatable } = request.routeOptions.config
    if (repeatable || notRepeatable !== undefined) idempotencyKeyOf(request.headers)
  })
  app.addHook('preValidation', async (request) => {
    if (request.routeOptions.config.bodyRequired && request.body === undefined) {
      throw new Problem('malformed_request', { detail: 'A JSON body is needed.' })
    }
  })
  app.addHook('preHandler', async (request) => {
    const faults = bodyFaults(request)
    if (faults.length > 0) throw validationFailed(...faults)
  })
  app.addHook('onResponse', async (request, reply) => {
    options.metrics.observe(options.listener, request, reply)
    logAnswer(options.listener, request, reply)
  })
}

/** Whoever asks for what is not there needs no token, either. */
const isForAnybody = ({ is404, routeOptions: { config } }: FastifyRequest): boolean =>
  is404 || (config.access === 'open' && config.limitsItself !== true)

/** A page elsewhere whose name resolves to this machine must not get to speak to it. */
function refuseUnknownHost(hosts: ReadonlySet<string> | null, { host }: FastifyRequest): void {
  if (hosts && !hosts.has(host.toLowerCase())) throw new Problem('misdirected_request')
}

/** Names the route by its pattern: what a caller puts in a path or query stays out of the log. */
function logAnswer(listener: string, request: FastifyRequest, reply: FastifyReply): void {
  request.log.info(
    {
      listener,
      method: request.method,
      route: routeOf(request),
      status: reply.statusCode,
      durationMs: Math.round(reply.elapsedTime * 10) / 10,
      clientId: request.caller?.clientId,
      traceId: traceIdOf(request.headers) ?? undefined,
    },
    'answered',
  )
}
