import Type from 'typebox'
import { Problem } from '../../domain/problem.ts'
import type { AuthorizationOperations } from '../../operations/authorizations/authorization.ts'
import type { ClientOperations } from '../../operations/clients/clients.ts'
import type { KeyOperations } from '../../operations/keys/keys.ts'
import { problemRoutes } from '../http/problem-pages.ts'
import { createServer, type Server, type ServerOptions } from '../http/server.ts'
import { actRoutes } from './routes/audit.ts'
import { authorizationRoutes } from './routes/authorizations.ts'
import { clientRoutes } from './routes/clients.ts'
import { componentEntryRoutes } from './routes/component-entries.ts'
import { hsmKeyRoutes } from './routes/keys.ts'
import { administeredProductRoutes, grantRoutes } from './routes/products.ts'
import { type SandboxClock, sandboxClockRoutes } from './routes/sandbox-clock.ts'
import { zoneRoutes } from './routes/zones.ts'

interface PrivateServerOptions extends Omit<ServerOptions, 'listener'> {
  /** Resolves when everything that a request needs answers. */
  ready(): Promise<void>
  readonly authorizing: AuthorizationOperations
  readonly keys: KeyOperations
  readonly administration: ClientOperations
  /** Null in production. */
  readonly sandboxClock: SandboxClock | null
}

/** What card networks, administration and the operator's monitoring call. */
export async function createPrivateServer(options: PrivateServerOptions): Promise<Server['app']> {
  const { app, finish } = createServer({ ...options, listener: 'private' })
  healthRoutes(app, options)
  problemRoutes(app)
  authorizationRoutes(app, options.authorizing)
  hsmKeyRoutes(app, options.keys)
  componentEntryRoutes(app, options.keys)
  administeredProductRoutes(app, options.administration)
  clientRoutes(app, options.administration)
  grantRoutes(app, options.administration)
  zoneRoutes(app, options.administration)
  actRoutes(app, options.administration)
  if (options.sandboxClock) sandboxClockRoutes(app, options.sandboxClock)
  app.after(finish)
  await app.ready()
  return app
}

const statusSchema = Type.Object({ status: Type.String() })

function healthRoutes(app: Server['app'], { metrics, ready }: PrivateServerOptions): void {
  const config = { access: 'open' } as const
  app.get('/livez', { config, schema: { response: { 200: statusSchema } } }, async () => ({
    status: 'alive',
  }))
  app.get('/readyz', { config, schema: { response: { 200: statusSchema } } }, async () => {
    await ready().catch((cause: unknown) => {
      throw new Problem('unavailable', { cause })
    })
    return { status: 'ready' }
  })
  app.get('/metrics', { config, schema: { response: { 200: Type.String() } } }, async (_, reply) =>
    reply.type(metrics.contentType).send(await metrics.read()),
  )
}
