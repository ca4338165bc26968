import { problemRoutes } from '../http/problem-pages.ts'
import { createServer, type Server, type ServerOptions } from '../http/server.ts'
import type { TokenAttempts } from '../http/token-attempts.ts'
import type { EventStreams } from '../issuing/event-streams.ts'
import type { Issuing } from '../issuing/issuing.ts'
import type { AuthorizationServer } from '../oauth/authorization-server.ts'
import type { Api } from './api.ts'
import { registerReference } from './reference.ts'
import { cardAttemptRoutes } from './routes/card-attempts.ts'
import { cardCvvRoutes } from './routes/card-cvv.ts'
import { cardDataRoutes } from './routes/card-data.ts'
import { cardPinRoutes } from './routes/card-pin.ts'
import { cardStatusRoutes } from './routes/card-status.ts'
import { cardRoutes } from './routes/cards.ts'
import { type DemoSite, demoRoutes } from './routes/demo.ts'
import { documentRoutes } from './routes/documents.ts'
import { eventRoutes } from './routes/events.ts'
import { keyRoutes } from './routes/keys.ts'
import { oauthRoutes } from './routes/oauth.ts'
import { productRoutes } from './routes/products.ts'
import { type Simulate, simulatorRoutes } from './routes/simulator.ts'
import { webhookDeliveryRoutes } from './routes/webhook-deliveries.ts'
import { type TargetCheck, webhookRoutes } from './routes/webhooks.ts'

export interface PublicServerOptions extends Omit<ServerOptions, 'listener'> {
  readonly issuing: Issuing
  /** The segment that stands for the processor in every path of the specification. */
  readonly processorPath: string
  readonly baseUrl: string
  readonly eventStreams: EventStreams
  readonly faultOfTarget: TargetCheck
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
  keyRoutes(api)
  if (options.simulate) simulatorRoutes(api, options.simulate)
  if (options.demo) demoRoutes(api, options.demo)
  problemRoutes(app)
  documentRoutes(api)
  oauthRoutes(api, authorizationServer, callers, options.tokenAttempts)
  app.after(finish)
  await app.ready()
  return app
}
