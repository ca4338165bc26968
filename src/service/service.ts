import type { Logger } from 'pino'
import { createPublicServer } from '../api/public-server.ts'
import type { DemoSite } from '../api/routes/demo.ts'
import { stringFormats } from '../api/schemas/formats.ts'
import type { Authorizing } from '../authorizing/authorizing.ts'
import type { Config } from '../config.ts'
import type { Delivering } from '../delivery/delivering.ts'
import { dateOf } from '../domain/calendar.ts'
import type { Hsm } from '../hsm/hsm.ts'
import { callerAddresses } from '../http/caller-address.ts'
import { rateLimiter } from '../http/client-rate.ts'
import type { Connections } from '../http/connections.ts'
import { createMetrics, type Metrics } from '../http/metrics.ts'
import type { Server } from '../http/server.ts'
import { tokenAttempts } from '../http/token-attempts.ts'
import { hashKeysInClear } from '../idempotency/hash-keys-in-clear.ts'
import { createEventStreams } from '../issuing/event-streams.ts'
import type { Issuing } from '../issuing/issuing.ts'
import type { KeyManagement } from '../key-management/key-management.ts'
import { hashClientSecret } from '../oauth/client-secret.ts'
import type { Listener } from '../oauth/scopes.ts'
import { createPrivateServer } from '../private-api/private-server.ts'
import { type MovableClock, movableClock, sweepingClock } from '../sandbox/clock.ts'
import type { SandboxFile } from '../sandbox/sandbox-file.ts'
import { seedSandbox } from '../sandbox/seed.ts'
import { createSimulator } from '../sandbox/simulator.ts'
import type { Database, Databases } from '../storage/database.ts'
import { pingDatabase } from '../storage/installation.ts'
import { createAdmissions } from './admissions.ts'
import { type Authentication, createAuthentication } from './authentication.ts'
import { createDelivering } from './delivering.ts'
import { createDemo } from './demo.ts'
import { registerAdministrators } from './first-administrators.ts'
import { createIssuing } from './issuing.ts'
import { createKeyManagement } from './key-management.ts'
import { createListenerConnections } from './listener-connections.ts'
import { openHsm } from './open-hsm.ts'
import { certificateListeners, type OpenTls, openTls } from './tls.ts'
import { authorizingObserver, watchAdmissions, watchKeys, watchPools } from './watching.ts'

/** Everything that runs, made and wired, not yet listening. */
export interface Service {
  readonly publicServer: Server['app']
  readonly privateServer: Server['app']
  readonly issuing: Issuing
  readonly delivering: Delivering
  readonly keys: KeyManagement
  /** Of each listener, on whatever it speaks. */
  readonly connections: Readonly<Record<Listener, Connections>>
  /** The listeners that speak TLS. */
  readonly tls: readonly OpenTls[]
  /** Ends, between two steps, what a request began and would go on with for long. */
  readonly stopping: AbortController
  /** What the sandbox tells of its demo clients; null in production. */
  readonly sandbox: SandboxFile | null
}

/**
 * Makes the service on a database that is at this program's schema.
 * @throws Error when the database belongs to another installation.
 */
export async function createService(
  config: Config,
  databases: Databases,
  log: Logger,
): Promise<Service> {
  const { background: database } = databases
  const hsm = await openHsm(config, database)
  await hashKeysInClear({ database, hsm })
  const sandbox = config.sandbox ? await seed(config, database, hsm) : null
  if (config.adminJwkFile !== null) await registerAdministrators(database, config.adminJwkFile, log)
  const authentication = await createAuthentication(config, databases, hsm, log)
  const clock = movableClock(config.sandboxClock)
  const issuing = createIssuing(databases.clients, hsm, config.limits, clock.now)
  const keys = createKeyManagement(database, hsm, config.keyRefreshMs, log)
  const stopping = new AbortController()
  const demo = createDemo(config, sandbox)
  const wired = { databases, issuing, keys, clock, authentication, demo, stopping }
  const servers = await createServers(config, wired, log)
  return { issuing, keys, sandbox, stopping, ...servers }
}

/** What the servers are made of. */
interface Wired {
  readonly databases: Databases
  readonly issuing: Issuing
  readonly keys: KeyManagement
  readonly clock: MovableClock
  readonly authentication: Authentication
  readonly demo: DemoSite | null
  readonly stopping: AbortController
}

async function createServers(
  config: Config,
  { authentication, clock, databases, demo, issuing, keys, stopping }: Wired,
  log: Logger,
): Promise<Pick<Service, 'publicServer' | 'privateServer' | 'delivering' | 'connections' | 'tls'>> {
  const { baseUrl, limits, network, processorPath, sandbox } = config
  const metrics = createMetrics()
  watchPools(metrics.registry, databases)
  watchKeys(metrics.registry, keys)
  const observe = authorizingObserver(metrics.registry, log)
  const { hsm, now } = issuing
  const { authorizationServer, verifiers } = authentication
  const authorizing: Authorizing = { database: databases.networks, hsm, now, observe }
  const background = { ...issuing, database: databases.background }
  const { delivering, faultOfTarget } = createDelivering(config, background, metrics.registry, log)
  const tls = openTls(config, metrics.registry, log)
  const admissions = createAdmissions(config)
  watchAdmissions(metrics.registry, admissions)
  const common = { ...commonOptions(config, issuing, metrics, log), admissions }
  const { callers } = common
  const connections = createListenerConnections(network, callers, metrics.registry, log)
  const publicServer = await createPublicServer({
    ...common,
    connections: connections.public,
    tls: tls.public?.servers ?? null,
    verifier: verifiers.public,
    issuing,
    processorPath,
    baseUrl,
    eventStreams: createEventStreams(issuing.database, (error) =>
      delivering.observe.faulted(error, 'open streams could not be served'),
    ),
    faultOfTarget,
    authorizationServer,
    openRate: limits && rateLimiter(limits.openCalls),
    tokenAttempts:
      limits && tokenAttempts({ client: limits.tokenCalls, address: limits.tokenFailures }),
    simulate: sandbox ? createSimulator({ ...authorizing, database: issuing.database }) : null,
    demo,
  })
  const privateServer = await createPrivateServer({
    ...common,
    connections: connections.private,
    tls: tls.private?.servers ?? null,
    // Health and metrics are asked for by who runs it, on a network of its own.
    openRate: null,
    verifier: verifiers.private,
    ready: readiness(databases, hsm),
    authorizing,
    keys,
    administration: {
      database: databases.background,
      hsm,
      certificateListeners: certificateListeners(config),
    },
    sandboxClock: sandbox ? sweepingClock(clock, background, stopping.signal) : null,
  })
  const listening = [tls.public, tls.private].filter((each) => each !== null)
  return { publicServer, privateServer, delivering, connections, tls: listening }
}

/** A keyed hash of a request id, in the form of one. */
const requestIdHash = (hsm: Hsm) => async (requestId: string) => {
  const hash = Buffer.from(await hsm.fingerprintRequestId(requestId))
  return `hash-${hash.subarray(0, 16).toString('base64url')}`
}

/** What both listeners are made with. */
const commonOptions = (config: Config, issuing: Issuing, metrics: Metrics, log: Logger) => ({
  log,
  metrics,
  callers: callerAddresses(config.network.trustedProxies),
  rate: config.limits && rateLimiter(config.limits.calls),
  formats: stringFormats(() => dateOf(issuing.now())),
  hashRequestId: requestIdHash(issuing.hsm),
  hosts: config.sandbox ? sandboxHosts(config) : null,
})

const readiness =
  ({ networks }: Databases, hsm: Hsm) =>
  async (): Promise<void> => {
    await Promise.all([pingDatabase(networks), hsm.ping()])
  }

async function seed(config: Config, database: Database, hsm: Hsm): Promise<SandboxFile> {
  const { baseUrl, privateUrl, processorPath } = config
  const credentials = await seedSandbox({ database, hsm, hashSecret: hashClientSecret })
  const tokenEndpoint = `${baseUrl}/oauth/token`
  return { baseUrl, privateUrl, processorPath, tokenEndpoint, ...credentials }
}

/** The names that a sandbox answers to: its own addresses, at its own ports. */
function sandboxHosts({ baseUrl, privateListener, privateUrl, publicListener }: Config) {
  const names = ['localhost', '127.0.0.1', '[::1]']
  const ports = [publicListener.port, privateListener.port]
  return new Set([
    ...names.flatMap((name) => ports.map((port) => `${name}:${port}`)),
    new URL(baseUrl).host,
    new URL(privateUrl).host,
  ])
}
