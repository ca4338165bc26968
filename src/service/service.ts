import type { Logger } from 'pino'
import { createPublicServer } from '../api/public-server.ts'
import type { DemoSite } from '../api/routes/demo.ts'
import { stringFormats } from '../api/schemas/formats.ts'
import type { Authorizing } from '../authorizing/authorizing.ts'
import type { Config } from '../config.ts'
import type { Delivering } from '../delivery/delivering.ts'
import { dateOf } from '../domain/calendar.ts'
import type { Hsm } from '../hsm/hsm.ts'
import { rateLimiter } from '../http/client-rate.ts'
import { createMetrics } from '../http/metrics.ts'
import type { Server } from '../http/server.ts'
import { hashKeysInClear } from '../idempotency/hash-keys-in-clear.ts'
import { createEventStreams } from '../issuing/event-streams.ts'
import type { Issuing } from '../issuing/issuing.ts'
import { sweep } from '../issuing/sweep.ts'
import type { KeyManagement } from '../key-management/key-management.ts'
import { hashClientSecret } from '../oauth/client-secret.ts'
import { createPrivateServer } from '../private-api/private-server.ts'
import type { SandboxClock } from '../private-api/routes/sandbox-clock.ts'
import { type MovableClock, movableClock } from '../sandbox/clock.ts'
import type { SandboxFile } from '../sandbox/sandbox-file.ts'
import { seedSandbox } from '../sandbox/seed.ts'
import { createSimulator } from '../sandbox/simulator.ts'
import type { Database } from '../storage/database.ts'
import { pingDatabase } from '../storage/installation.ts'
import {
  type Authentication,
  createAuthentication,
  registerAdministrator,
} from './authentication.ts'
import { createDelivering } from './delivering.ts'
import { createDemo } from './demo.ts'
import { createIssuing } from './issuing.ts'
import { createKeyManagement } from './key-management.ts'
import { openHsm } from './open-hsm.ts'
import { certificateListeners, type OpenTls, openTls } from './tls.ts'
import { authorizingObserver, watchKeys, watchPool } from './watching.ts'

/** Everything that runs, made and wired, not yet listening. */
export interface Service {
  readonly publicServer: Server['app']
  readonly privateServer: Server['app']
  readonly issuing: Issuing
  readonly delivering: Delivering
  readonly keys: KeyManagement
  /** The listeners that speak TLS. */
  readonly tls: readonly OpenTls[]
  /** What the sandbox tells of its demo clients; null in production. */
  readonly sandbox: SandboxFile | null
}

/**
 * Makes the service on a database that is at this program's schema.
 * @throws Error when the database belongs to another installation.
 */
export async function createService(
  config: Config,
  database: Database,
  log: Logger,
): Promise<Service> {
  const hsm = await openHsm(config, database)
  await hashKeysInClear({ database, hsm })
  const sandbox = config.sandbox ? await seed(config, database, hsm) : null
  if (config.adminJwkFile !== null) await registerAdministrator(database, config.adminJwkFile, log)
  const authentication = await createAuthentication(config, database, hsm, log)
  const clock = movableClock(config.sandboxClock)
  const issuing = createIssuing(database, hsm, config.limits, clock.now)
  const keys = createKeyManagement(database, hsm, config.keyRefreshMs, log)
  const demo = createDemo(config, sandbox)
  const servers = await createServers(config, issuing, keys, clock, authentication, demo, log)
  return { issuing, keys, sandbox, ...servers }
}

async function createServers(
  config: Config,
  issuing: Issuing,
  keys: KeyManagement,
  clock: MovableClock,
  { authorizationServer, verifiers }: Authentication,
  demo: DemoSite | null,
  log: Logger,
): Promise<Pick<Service, 'publicServer' | 'privateServer' | 'delivering' | 'tls'>> {
  const { baseUrl, limits, processorPath, sandbox } = config
  const metrics = createMetrics()
  if (issuing.database.load) watchPool(metrics.registry, issuing.database.load)
  watchKeys(metrics.registry, keys)
  const observe = authorizingObserver(metrics.registry, log)
  const { database, hsm, now } = issuing
  const authorizing: Authorizing = { database, hsm, now, observe }
  const { delivering, faultOfTarget } = createDelivering(config, issuing, metrics.registry, log)
  const tls = openTls(config, metrics.registry, log)
  const common = {
    log,
    metrics,
    rate: limits && rateLimiter(limits.calls),
    formats: stringFormats(() => dateOf(issuing.now())),
    hashRequestId: async (requestId: string) => {
      const hash = Buffer.from(await hsm.fingerprintRequestId(requestId))
      return `hash-${hash.subarray(0, 16).toString('base64url')}`
    },
    hosts: config.sandbox ? sandboxHosts(config) : null,
  }
  const publicServer = await createPublicServer({
    ...common,
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
    tokenRate: limits && rateLimiter(limits.tokenCalls),
    simulate: sandbox ? createSimulator(authorizing) : null,
    demo,
  })
  const ready = async () => {
    await Promise.all([pingDatabase(issuing.database), issuing.hsm.ping()])
  }
  const privateServer = await createPrivateServer({
    ...common,
    tls: tls.private?.servers ?? null,
    verifier: verifiers.private,
    ready,
    authorizing,
    keys,
    administration: { database, hsm, certificateListeners: certificateListeners(config) },
    sandboxClock: sandbox ? sweepingClock(clock, issuing) : null,
  })
  const listening = [tls.public, tls.private].filter((each) => each !== null)
  return { publicServer, privateServer, delivering, tls: listening }
}

/** When the clock moves, cards that expire by it tell so at once. */
const sweepingClock = (clock: MovableClock, issuing: Issuing): SandboxClock => ({
  now: clock.now,
  async moveTo(instant) {
    const isMoved = clock.moveTo(instant)
    if (isMoved) await sweep(issuing)
    return isMoved
  },
})

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
