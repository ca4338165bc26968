import { problemRoutes } from '../http/problem-pages.ts'
import { createServer, type Server, type ServerOptions } from '../http/server.ts'
import type { TokenAttempts } from '../http/token-attempts.ts'
import type { PublicApi } from './api.ts'
import { documentRoutes, registerReference } from './reference.ts'
import { cardCvvRoutes } from './routes/card-cvv.ts'
import { cardDataKeyRoute, cardDataKeySetRoute, getCardDataRoute } from './routes/card-data.ts'
import { pinStatusRoute, revealPinRoute, setPinRoute, unblockPinRoute } from './routes/card-pin.ts'
import {
  cardStatusRoutes,
  createCardRoute,
  findCardRoute,
  listAttemptsRoute,
  listCardsRoute,
} from './routes/cards.ts'
import {
  listDeliveriesRoute,
  pingWebhookRoute,
  replayWebhookRoute,
  resendDeliveryRoute,
} from './routes/deliveries.ts'
import { type DemoSite, demoRoutes } from './routes/demo.ts'
import { listEventsRoute } from './routes/events.ts'
import { oauthRoutes, type PublicAuthorizationServer } from './routes/oauth.ts'
import { listProductsRoute } from './routes/products.ts'
import { type Simulate, simulatorRoute } from './routes/simulator.ts'
import {
  createWebhookRoute,
  deleteWebhookRoute,
  findWebhookRoute,
  listWebhooksRoute,
  rotateWebhookSecretRoute,
  updateWebhookRoute,
} from './routes/webhooks.ts'

interface PublicServerOptions
  extends Omit<ServerOptions, 'listener'>,
    Omit<PublicApi, 'app' | 'base'> {
  /** The segment that stands for the processor in every path of the specification. */
  readonly processorPath: string
  readonly authorizationServer: PublicAuthorizationServer
  /** Nothing where limits are turned off. */
  readonly tokenAttempts: TokenAttempts | null
  /** Null in production. */
  readonly simulate: Simulate | null
  /** Null in production. */
  readonly demo: DemoSite | null
}

/** In the order in which the document has them. */
const routes = [
  listProductsRoute,
  ...[createCardRoute, findCardRoute, listCardsRoute, cardStatusRoutes],
  ...[setPinRoute, revealPinRoute, pinStatusRoute, unblockPinRoute],
  cardCvvRoutes,
  listAttemptsRoute,
  listEventsRoute,
  ...[createWebhookRoute, listWebhooksRoute, findWebhookRoute, updateWebhookRoute],
  ...[deleteWebhookRoute, rotateWebhookSecretRoute],
  ...[pingWebhookRoute, listDeliveriesRoute, resendDeliveryRoute, replayWebhookRoute],
  ...[getCardDataRoute, cardDataKeySetRoute, cardDataKeyRoute],
]

/** What a client system calls. Nothing private is reachable here. */
export async function createPublicServer(options: PublicServerOptions): Promise<Server['app']> {
  const { authorizationServer, baseUrl, callers, demo, simulate, tokenAttempts } = options
  const { app, finish } = createServer({ ...options, listener: 'public' })
  await registerReference(app, baseUrl)
  const api: PublicApi = { ...options, app, base: `/thr/${options.processorPath}` }
  for (const add of routes) add(api)
  if (simulate) simulatorRoute(api, simulate)
  if (demo) demoRoutes(api, demo)
  problemRoutes(app)
  documentRoutes(api)
  oauthRoutes(api, authorizationServer, callers, tokenAttempts)
  app.after(finish)
  await app.ready()
  return app
}
