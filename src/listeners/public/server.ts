import type { FastifyRequest } from 'fastify'
import type { Requester } from '../../domain/client.ts'
import { isPublicToken } from '../../domain/identifiers.ts'
import { Problem } from '../../domain/problem.ts'
import type { CardDataOperations } from '../../operations/card-data/card-data.ts'
import type { EventStreams } from '../../operations/events/streams.ts'
import { callerOf as authenticatedCaller } from '../http/authentication.ts'
import { problemRoutes } from '../http/problem-pages.ts'
import { createServer, type Server, type ServerOptions } from '../http/server.ts'
import type { AuthorizationServer } from '../oauth/authorization-server.ts'
import type { TokenAttempts } from '../oauth/token-attempts.ts'
import { documentRoutes, registerReference } from './reference.ts'
import { cardCvvRoutes } from './routes/card-cvv.ts'
import { cardDataKeyRoutes, cardDataRoutes } from './routes/card-data.ts'
import { cardPinRoutes } from './routes/card-pin.ts'
import { cardAttemptRoutes, cardRoutes, cardStatusRoutes } from './routes/cards.ts'
import { webhookDeliveryRoutes } from './routes/deliveries.ts'
import { type DemoSite, demoRoutes } from './routes/demo.ts'
import { eventRoutes } from './routes/events.ts'
import { oauthRoutes } from './routes/oauth.ts'
import { productRoutes } from './routes/products.ts'
import { type Simulate, simulatorRoutes } from './routes/simulator.ts'
import { type FaultOfTarget, webhookRoutes } from './routes/webhooks.ts'

interface PublicServerOptions extends Omit<ServerOptions, 'listener'> {
  readonly issuing: CardDataOperations
  /** The segment that stands for the processor in every path of the specification. */
  readonly processorPath: string
  readonly baseUrl: string
  readonly eventStreams: EventStreams
  readonly faultOfTarget: FaultOfTarget
  readonly authorizationServer: AuthorizationServer
  /** Nothing where limits are turned off. */
  readonly tokenAttempts: TokenAttempts | null
  /** Null in production. */
  readonly simulate: Simulate | null
  /** Null in production. */
  readonly demo: DemoSite | null
}

/** What a client system calls. Nothing private is reachable here. */
export async function createPublicServer(options: PublicServerOptions): Promise<Server['app']> {
  const { authorizationServer, baseUrl, callers, issuing, processorPath } = options
  const { app, finish } = createServer({ ...options, listener: 'public' })
  await registerReference(app, baseUrl)
  const api: Api = { app, issuing, base: `/thr/${processorPath}` }
  productRoutes(api)
  cardRoutes(api)
  cardStatusRoutes(api)
  cardPinRoutes(api)
  cardCvvRoutes(api)
  cardAttemptRoutes(api)
  eventRoutes(api, options.eventStreams)
  webhookRoutes(api, options.faultOfTarget)
  webhookDeliveryRoutes(api)
  cardDataRoutes(api, baseUrl)
  cardDataKeyRoutes(api)
  if (options.simulate) simulatorRoutes(api, options.simulate)
  if (options.demo) demoRoutes(api, options.demo)
  problemRoutes(app)
  documentRoutes(api)
  oauthRoutes(api, authorizationServer, callers, options.tokenAttempts)
  app.after(finish)
  await app.ready()
  return app
}

/** What the routes of the public listener work with. */
export interface Api {
  readonly app: Server['app']
  readonly issuing: CardDataOperations
  /** What every path of the specification begins with: `/thr/processor`. */
  readonly base: string
}

/** Who calls, as the operations know it. */
export const actingOf = (request: FastifyRequest): Requester => ({
  clientId: authenticatedCaller(request).clientId,
  requestId: request.id,
})

/** The card that a path names. @throws `Problem` `card_not_found` when it can be no card's token. */
export function publicTokenOf({ params }: { params: { publicToken: string } }): string {
  if (!isPublicToken(params.publicToken)) throw new Problem('card_not_found')
  return params.publicToken
}
