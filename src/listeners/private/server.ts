import Type from 'typebox'
import { Problem } from '../../domain/problem.ts'
import { describeRoutes, openapiRoute } from '../http/openapi/route.ts'
import { problemRoutes } from '../http/problem-pages.ts'
import { createServer, plainInstance, type Server, type ServerOptions } from '../http/server.ts'
import type { PrivateApi } from './api.ts'
import { guardByApproval } from './approval-gate.ts'
import { privateDescription } from './openapi.ts'
import { allAuthorizationsRoute, authorizationCountsRoutes } from './routes/all-authorizations.ts'
import * as approvalRoutes from './routes/approvals.ts'
import { listActsRoute } from './routes/audit.ts'
import { erasureRoutes } from './routes/audit-erasures.ts'
import { auditorRoutes, auditTreeRoutes, succeedAuditLogRoute } from './routes/audit-log.ts'
import { auditPagesRoutes } from './routes/audit-pages.ts'
import { authorizeRoute } from './routes/authorizations.ts'
import * as bureauRoutes from './routes/bureau.ts'
import * as cardActRoutes from './routes/card-acts.ts'
import { cardAuthorizationRoutes } from './routes/card-authorizations.ts'
import * as cardLifeActRoutes from './routes/card-life-acts.ts'
import { cardPaymentRoutes } from './routes/card-payments.ts'
import * as cardRoutes from './routes/cards.ts'
import * as clientRoutes from './routes/clients.ts'
import {
  componentEntryRoutes,
  enterComponentRoute,
  openComponentEntryRoute,
} from './routes/component-entries.ts'
import { watchedEndpointsRoute } from './routes/decision-endpoints.ts'
import { disclosureReceiptRoute, listDisclosuresRoute } from './routes/disclosures.ts'
import { figureRoutes } from './routes/figures.ts'
import { healthRoute } from './routes/health.ts'
import { exportKeyRoute, importKeyRoute } from './routes/key-transport.ts'
import {
  endKeyRoutes,
  keyRoutes,
  newKeyRoutes,
  retireZoneKeyRoute,
  rotateMasterKeyRoute,
} from './routes/keys.ts'
import { cardSpendingRoute, clientLimitsRoute, limitRoutes } from './routes/limits.ts'
import * as linkRoutes from './routes/links.ts'
import { listOperatorEntriesRoute } from './routes/operator-entries.ts'
import * as paymentRoutes from './routes/payments.ts'
import { operatorRoutes, signPersonOutRoute } from './routes/people.ts'
import * as productRoutes from './routes/products.ts'
import {
  type Sandbox,
  sandboxClockRoutes,
  sandboxSimulatorRoute,
  sandboxSnapshotRoutes,
  settleSandboxRoute,
} from './routes/sandbox.ts'
import * as webhookRoutes from './routes/webhooks.ts'
import { createZoneRoute, listZonesRoute, retireZoneRoute } from './routes/zones.ts'
import { createWatching } from './watching.ts'

interface PrivateServerOptions
  extends Omit<ServerOptions, 'listener' | 'base'>,
    Omit<PrivateApi, 'app' | 'watching'> {
  /** The addresses of this listener and of the public one. */
  readonly addresses: Parameters<typeof privateDescription>[0]
  /** Resolves when every dependency of requests answers. */
  ready(): Promise<void>
  /** Null in production. */
  readonly sandbox: Sandbox | null
  /** Mounts the console; null without one. */
  readonly mountConsole: ((app: Server) => void) | null
  /** Puts the documents on it. */
  readonly mountDocuments: (app: Server) => void
}

const routes = [
  authorizeRoute,
  paymentRoutes.reversePaymentRoute,
  paymentRoutes.advisePaymentRoute,
  paymentRoutes.clearPaymentsRoute,
  cardRoutes.searchCardsRoute,
  cardRoutes.cardRoutes,
  cardActRoutes.cardActRoutes,
  cardLifeActRoutes.possibleActsRoute,
  cardLifeActRoutes.successionActRoutes,
  cardLifeActRoutes.renewalActRoutes,
  cardLifeActRoutes.conversionActRoute,
  cardLifeActRoutes.deliveryAddressRoute,
  cardActRoutes.unblockManyRoute,
  cardActRoutes.revealCardholderRoute,
  bureauRoutes.batchRoutes,
  bureauRoutes.plasticRoutes,
  cardAuthorizationRoutes,
  cardPaymentRoutes,
  allAuthorizationsRoute,
  authorizationCountsRoutes,
  keyRoutes,
  newKeyRoutes,
  rotateMasterKeyRoute,
  importKeyRoute,
  exportKeyRoute,
  endKeyRoutes,
  retireZoneKeyRoute,
  componentEntryRoutes,
  openComponentEntryRoute,
  enterComponentRoute,
  productRoutes.administeredProductRoutes,
  productRoutes.createProductRoute,
  productRoutes.changeProductRoute,
  productRoutes.productControlRoutes,
  productRoutes.backTestProductRoute,
  clientRoutes.clientRoutes,
  clientRoutes.createClientRoute,
  clientRoutes.changeClientRoute,
  clientRoutes.rotateClientSecretRoute,
  clientRoutes.confirmClientRoute,
  productRoutes.grantRoutes,
  watchedEndpointsRoute,
  listZonesRoute,
  createZoneRoute,
  retireZoneRoute,
  linkRoutes.linkRoutes,
  linkRoutes.listLinkAdvicesRoute,
  linkRoutes.createLinkRoute,
  linkRoutes.changeLinkRoute,
  listActsRoute,
  operatorRoutes,
  signPersonOutRoute,
  approvalRoutes.approvalRoutes,
  approvalRoutes.decideApprovalRoutes,
  approvalRoutes.ownApprovalRoutes,
  listDisclosuresRoute,
  disclosureReceiptRoute,
  webhookRoutes.watchedWebhookRoutes,
  webhookRoutes.watchedDeliveriesRoute,
  webhookRoutes.sendAgainRoutes,
  webhookRoutes.switchWebhookRoutes,
  limitRoutes,
  cardSpendingRoute,
  clientLimitsRoute,
  figureRoutes,
  healthRoute,
  auditPagesRoutes,
  auditTreeRoutes,
  auditorRoutes,
  listOperatorEntriesRoute,
  succeedAuditLogRoute,
  erasureRoutes,
]

/** Probes call the machine by its address, or without a name. */
const watched = { access: 'open', anyHost: true } as const
const tags = ['Health']
const StatusSchema = Type.Object({ status: Type.String() })

/** Creates the server for card networks, administrators and the operator's monitoring. */
export async function createPrivateServer(options: PrivateServerOptions): Promise<Server> {
  const app = createServer({ ...options, listener: 'private' })
  await describeRoutes(app, privateDescription(options.addresses, options.formats))
  const onClose = (stop: () => void) => void app.addHook('onClose', async () => stop())
  const watching = createWatching({ ...options, onClose })
  const api: PrivateApi = { ...options, app, watching }
  const { approvals, metrics, ready } = options
  guardByApproval(plainInstance(app), approvals)
  const answers = { tags, response: { 200: StatusSchema } }
  const alive = { ...answers, operationId: 'live', summary: 'Report that the process is alive' }
  app.get('/livez', { config: watched, schema: alive }, async () => ({ status: 'alive' }))
  const prepared = {
    ...answers,
    operationId: 'ready',
    summary: 'Report whether requests can be sent here',
  }
  app.get('/readyz', { config: watched, schema: prepared }, async () => {
    await ready().catch((cause: unknown) => {
      throw new Problem('unavailable', { cause })
    })
    return { status: 'ready' }
  })
  const text = { hide: true, response: { 200: Type.String() } }
  app.get('/metrics', { config: watched, schema: text }, async (_, reply) =>
    reply.type(metrics.contentType).send(await metrics.read()),
  )
  problemRoutes(app)
  for (const add of routes) add(api)
  if (options.sandbox) {
    sandboxClockRoutes(api, options.sandbox)
    sandboxSimulatorRoute(api, options.sandbox)
    sandboxSnapshotRoutes(api, options.sandbox)
    settleSandboxRoute(api, options.sandbox)
  }
  openapiRoute(app)
  options.mountDocuments(app)
  if (options.mountConsole) {
    options.mountConsole(app)
    const hidden = { hide: true, response: { 302: Type.Null() } }
    app.get('/', { config: { access: 'open' }, schema: hidden }, async (_, reply) =>
      reply.redirect('/console'),
    )
  }
  await app.ready()
  return app
}
