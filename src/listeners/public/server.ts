import Type from 'typebox'
import { describeRoutes, openapiRoute } from '../http/openapi/route.ts'
import { problemRoutes } from '../http/problem-pages.ts'
import { createServer, type Server, type ServerOptions } from '../http/server.ts'
import type { TokenAttempts } from '../http/token-attempts.ts'
import type { PublicApi } from './api.ts'
import { publicDescription } from './openapi/document.ts'
import { authorizationRoutes } from './routes/authorizations.ts'
import { cardCvvRoutes } from './routes/card-cvv.ts'
import { cardDataKeyRoute, cardDataKeySetRoute, getCardDataRoute } from './routes/card-data.ts'
import { pinStatusRoute, revealPinRoute, setPinRoute, unblockPinRoute } from './routes/card-pin.ts'
import * as cardRoutes from './routes/cards.ts'
import { cardChipRoutes } from './routes/chips.ts'
import {
  backTestControlsRoute,
  cardControlRoutes,
  explainControlsRoute,
} from './routes/controls.ts'
import { decisionEndpointRoutes } from './routes/decision-endpoint.ts'
import * as decisionRoutes from './routes/decisions.ts'
import * as deliveryRoutes from './routes/deliveries.ts'
import { type DemoSite, demoRoutes } from './routes/demo.ts'
import { listEventsRoute } from './routes/events.ts'
import { oauthRoutes, type PublicAuthorizationServer } from './routes/oauth.ts'
import { type PaymentSimulator, paymentSimulatorRoutes } from './routes/payment-simulator.ts'
import { paymentRoutes } from './routes/payments.ts'
import { listProductsRoute } from './routes/products.ts'
import { auditLogKeysRoute, readReceiptRoute } from './routes/receipts.ts'
import { renewalJobRoutes } from './routes/renewal-jobs.ts'
import { cancelRenewalRoute, convertCardRoutes, renewCardRoute } from './routes/renewals.ts'
import { completeReplacementRoutes, replaceCardRoute } from './routes/replacements.ts'
import { sandboxPlasticRoutes } from './routes/sandbox-plastics.ts'
import { type Simulate, simulatorRoute } from './routes/simulator.ts'
import { type VirtualChips, virtualChipRoutes } from './routes/virtual-chip.ts'
import * as webhookRoutes from './routes/webhooks.ts'

interface PublicServerOptions
  extends Omit<ServerOptions, 'listener' | 'base'>,
    Omit<PublicApi, 'app' | 'base'> {
  /** The segment for the processor in every path of the specification. */
  readonly processorPath: string
  readonly authorizationServer: PublicAuthorizationServer
  /** Null if limits are off. */
  readonly tokenAttempts: TokenAttempts | null
  /** Null in production. */
  readonly simulate: Simulate | null
  /** Null in production. */
  readonly paymentSimulator: PaymentSimulator | null
  readonly virtualChips: VirtualChips | null
  /** Null in production. */
  readonly demo: DemoSite | null
  /** Puts the documents on it. */
  readonly mountDocuments: (app: Server) => void
}

/** In the order of the document. */
const routes = [
  listProductsRoute,
  cardRoutes.createCardRoute,
  cardRoutes.findCardRoute,
  cardRoutes.changeCardRoute,
  cardRoutes.listCardsRoute,
  cardRoutes.cardStatusRoutes,
  cardRoutes.listHistoryRoute,
  replaceCardRoute,
  completeReplacementRoutes,
  renewCardRoute,
  cancelRenewalRoute,
  convertCardRoutes,
  setPinRoute,
  revealPinRoute,
  pinStatusRoute,
  unblockPinRoute,
  cardCvvRoutes,
  cardRoutes.listAttemptsRoute,
  cardControlRoutes,
  explainControlsRoute,
  backTestControlsRoute,
  cardChipRoutes,
  renewalJobRoutes,
  authorizationRoutes,
  paymentRoutes,
  decisionEndpointRoutes,
  decisionRoutes.listDecisionsRoute,
  decisionRoutes.streamDecisionsRoute,
  decisionRoutes.findDecisionRoute,
  decisionRoutes.answerDecisionRoute,
  decisionRoutes.replayDecisionRoute,
  listEventsRoute,
  webhookRoutes.createWebhookRoute,
  webhookRoutes.listWebhooksRoute,
  webhookRoutes.findWebhookRoute,
  webhookRoutes.updateWebhookRoute,
  webhookRoutes.deleteWebhookRoute,
  webhookRoutes.rotateWebhookSecretRoute,
  deliveryRoutes.pingWebhookRoute,
  deliveryRoutes.listDeliveriesRoute,
  deliveryRoutes.resendDeliveryRoute,
  deliveryRoutes.replayWebhookRoute,
  getCardDataRoute,
  cardDataKeySetRoute,
  cardDataKeyRoute,
  readReceiptRoute,
  auditLogKeysRoute,
]

/** Creates the server for client systems. Nothing private is reachable here. */
export async function createPublicServer(options: PublicServerOptions): Promise<Server> {
  const { authorizationServer, baseUrl, callers, demo, tokenAttempts } = options
  const { paymentSimulator, simulate, virtualChips } = options
  const base = `/thr/${options.processorPath}`
  const app = createServer({ ...options, listener: 'public', base })
  await describeRoutes(app, publicDescription(baseUrl, options.formats))
  const api: PublicApi = { ...options, app, base }
  for (const add of routes) add(api)
  if (simulate) simulatorRoute(api, simulate)
  if (simulate && paymentSimulator) paymentSimulatorRoutes(api, simulate, paymentSimulator)
  if (virtualChips) virtualChipRoutes(api, virtualChips)
  if (simulate) sandboxPlasticRoutes(api)
  if (demo) demoRoutes(api, demo)
  problemRoutes(app)
  openapiRoute(app)
  options.mountDocuments(app)
  const hidden = { hide: true, response: { 302: Type.Null() } }
  app.get('/', { config: { access: 'open' }, schema: hidden }, async (_, reply) =>
    reply.redirect('/docs'),
  )
  oauthRoutes(api, authorizationServer, callers, tokenAttempts)
  await app.ready()
  return app
}
