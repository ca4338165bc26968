import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import { createAuditSite } from '../../web/site/audit-site.ts'
import { formatDate } from '../domain/calendar.ts'
import type { ListenerName } from '../domain/client.ts'
import type { Hsm } from '../hsm/contract/hsm.ts'
import { callerAddresses } from '../listeners/http/caller-address.ts'
import type { Connections } from '../listeners/http/connections.ts'
import { createMetrics, type Metrics } from '../listeners/http/metrics.ts'
import type { Server } from '../listeners/http/server.ts'
import type { Gateway } from '../listeners/iso8583/gateway.ts'
import { loadProfiles } from '../listeners/iso8583/profile.ts'
import { createPrivateServer } from '../listeners/private/server.ts'
import { stringFormats } from '../listeners/public/schemas/formats.ts'
import { createPublicServer } from '../listeners/public/server.ts'
import type { ApprovalContext } from '../operations/approvals/approvals.ts'
import type { SendApproved } from '../operations/approvals/carry-out.ts'
import type { AuditLogContext } from '../operations/audit-log/audit-log.ts'
import {
  type AuthorizationContext,
  createZoneKeyCache,
} from '../operations/authorizations/authorization.ts'
import type { CardDataContext } from '../operations/card-data/card-data.ts'
import { hashClientSecret } from '../operations/clients/credentials.ts'
import { createRests, type Rests, wakingDatabase } from '../operations/events/rests.ts'
import { createEventStreams } from '../operations/events/streams.ts'
import type { KeyContext } from '../operations/keys/keys.ts'
import type { DeliveryContext } from '../operations/webhooks/delivery-context.ts'
import { createVirtualChips } from '../sandbox/chip/virtual-chip.ts'
import { type MovableClock, movableClock, sweepingClock } from '../sandbox/clock.ts'
import { createPaymentSimulator } from '../sandbox/payment-simulator.ts'
import type { SandboxFile } from '../sandbox/sandbox-file.ts'
import { seedSandbox } from '../sandbox/seed.ts'
import { createSimulator } from '../sandbox/simulator.ts'
import type { Database, Databases } from '../storage/engine/database.ts'
import { findClockAhead, pingDatabase } from '../storage/engine/installation.ts'
import { findUpkeep } from '../storage/engine/vacuum.ts'
import { createApprovals, sendApproved, watchApprovals } from './approvals.ts'
import { createAuditLog, watchAuditLog } from './audit-log.ts'
import { createAuthentication, registerAdministrators } from './authentication.ts'
import type { Config } from './config/config.ts'
import { createConsole, listSandboxOperators } from './console.ts'
import { createIssuing, createKeyManagement } from './contexts.ts'
import { askObserver, watchAsker } from './decision-observer.ts'
import { createDeciding, createDecisionEndpoints, type Deciding } from './decisions.ts'
import { createDelivering } from './delivery.ts'
import { createDemo } from './demo.ts'
import { createDocuments } from './documents.ts'
import { openHsm } from './hsm.ts'
import { type InProcessCalls, inProcessCalls } from './in-process-calls.ts'
import { createAdmissions, createLimiters, createListenerConnections } from './limits.ts'
import { createLinks } from './links.ts'
import { authorizingObserver, watchAdmissions, watchKeys, watchPools } from './metrics.ts'
import type { Peers } from './processes/peers.ts'
import {
  followClock,
  sharedClock,
  sharedDemo,
  sharedLimits,
  sharedMetrics,
} from './processes/sharing.ts'
import { createSandboxGate, createSandboxSnapshots } from './snapshots.ts'
import { certificateListeners, type OpenTls, openTls } from './tls.ts'

/** The service, created and connected, not yet listening. */
export interface Service {
  readonly publicServer: Server
  readonly privateServer: Server
  readonly issuing: CardDataContext
  readonly authorizing: AuthorizationContext
  readonly deciding: Deciding
  readonly delivering: DeliveryContext
  readonly keys: KeyContext
  readonly audit: AuditLogContext
  readonly approvals: ApprovalContext
  /** Executes approved requests. */
  readonly sendApproved: SendApproved
  /** Calls of the private listener by this process. */
  readonly calls: InProcessCalls
  /** The connections of each listener. */
  readonly connections: Readonly<Record<ListenerName, Connections>>
  /** The listeners that speak TLS. */
  readonly tls: readonly OpenTls[]
  /** Stops long work of requests between two steps. */
  readonly stopping: AbortController
  /** The links of card networks, which listen after they are started. */
  readonly links: Gateway
  /** The content of `sandbox.json`; null in production. */
  readonly sandbox: SandboxFile | null
  /** The clock of cards, plastics and jobs, which only a sandbox can move. */
  readonly clock: MovableClock
}

/** Sets the clock of a sandbox to where its last move left it, unless it is configured. */
async function restoreClock(
  clock: MovableClock,
  { sandboxClock }: Pick<Config, 'sandboxClock'>,
  database: Database,
  peers: Peers | null,
): Promise<void> {
  if (sandboxClock === null) clock.setAhead(await findClockAhead(database))
  if (peers) await followClock(clock, peers)
}

/**
 * Creates the service on a database with this program's schema.
 * @param peers the other processes of this command, if any.
 * @throws Error when the database belongs to another installation.
 */
// biome-ignore lint/complexity/noExcessiveLinesPerFunction: each line needs those above it
export async function createService(
  config: Config,
  opened: Databases,
  log: Logger,
  peers: Peers | null = null,
): Promise<Service> {
  const rests = createRests()
  const databases = wakingDatabases(opened, rests)
  const { background: database } = databases
  const hsm = await openHsm(config, database)
  const sandbox = config.sandbox ? await seed(config, database, hsm) : null
  if (config.adminJwkFile !== null) await registerAdministrators(database, config.adminJwkFile, log)
  const authentication = await createAuthentication(config, databases, hsm, log)
  const { authorizationServer, verifiers } = authentication
  const clock = movableClock(config.sandboxClock)
  if (sandbox) await restoreClock(clock, config, database, peers)
  const stopping = new AbortController()

  const issuing = createIssuing(databases.clients, hsm, config.limits, clock.now)
  const cards = { ...issuing, database }
  const keys = createKeyManagement(database, hsm, config, log)
  const audit = await createAuditLog(config, database, hsm)
  const approvals = createApprovals(config, database, hsm, log)

  const metrics = peers ? sharedMetrics(peers) : createMetrics()
  const { registry } = metrics
  const admissions = createAdmissions(config)
  const gate = createSandboxGate(config)
  watchPools(registry, databases)
  watchKeys(registry, keys)
  watchAuditLog(registry, audit)
  watchApprovals(registry, { database })
  watchAdmissions(registry, admissions)

  const decisionEndpoints = createDecisionEndpoints(config, databases, hsm)
  const undecided = {
    database: databases.networks,
    hsm,
    zoneKeys: createZoneKeyCache(),
    now: clock.now,
    observe: authorizingObserver(registry, log),
  }
  const observeAsks = askObserver(registry, database, log)
  const deciding = createDeciding(config, undecided, decisionEndpoints, observeAsks, (err) =>
    log.warn({ err }, 'requests for decisions could not be served'),
  )
  watchAsker(registry, deciding.asker)
  const { decisions, observe } = deciding
  const authorizing: AuthorizationContext = { ...undecided, observe, decisions }
  const tls = openTls(config, registry, log)
  const links = createLinks({
    databases,
    authorizing,
    keys,
    admissions,
    gate,
    profiles: await loadProfiles(config.linkProfilesDir),
    registry,
    log,
    tls: tls.private,
    allowsPlain: config.allowsPlainLinks,
  })
  const { delivering, faultOfTarget } = createDelivering(
    config,
    { ...cards, gate, rests },
    registry,
    log,
  )
  const limiters = createLimiters(config, peers && sharedLimits(peers))
  const common = {
    ...commonOptions(config, issuing, metrics, log),
    rate: limiters.rate,
    admissions,
    gate,
    mountDocuments: createDocuments(config),
  }
  const connections = createListenerConnections(config.network, common.callers, registry, log)
  const simulating = { ...authorizing, database: databases.clients }
  const virtualChips = createVirtualChips(simulating)
  const simulate = createSimulator(simulating, virtualChips)
  const demo = createDemo(config, sandbox)

  const publicServer = await createPublicServer({
    ...common,
    openRate: limiters.openRate,
    tokenAttempts: limiters.tokenAttempts,
    connections: connections.public,
    tls: tls.public?.servers ?? null,
    verifier: verifiers.public,
    issuing,
    processorPath: config.processorPath,
    baseUrl: config.baseUrl,
    audit: { ...audit, database: databases.clients },
    eventStreams: createEventStreams(databases.clients, (error) =>
      delivering.observe.faulted(error, 'open streams could not be served'),
    ),
    faultOfTarget,
    decisionEndpoints,
    deciding: deciding.calls,
    authorizationServer,
    simulate: sandbox ? simulate : null,
    ...(sandbox
      ? { paymentSimulator: createPaymentSimulator(simulating), virtualChips }
      : { paymentSimulator: null, virtualChips: null }),
    demo: demo && peers ? sharedDemo(demo, peers) : demo,
  })

  const people = await createConsole(config, {
    sandbox,
    database,
    peers,
    callers: common.callers,
    rate: limiters.openRate,
    verifier: verifiers.private,
  })
  const calls = inProcessCalls(people.verifier)
  const sweeping = sweepingClock(clock, cards, stopping.signal)
  const sandboxClock = peers ? sharedClock(sweeping, clock, peers) : sweeping
  const snapshots = createSandboxSnapshots(gate, {
    audit,
    clock,
    peers,
    otherProcesses: config.processes - 1,
    async forget() {
      authentication.forget()
      authorizing.zoneKeys.clear()
      decisionEndpoints.registry.forget()
      decisionEndpoints.signer.forget()
      await links.forget()
    },
  })
  const privateServer = await createPrivateServer({
    ...common,
    ...watchedOptions(config, databases, hsm, peers),
    // Operators request health and metrics, on a network of their own.
    openRate: null,
    connections: connections.private,
    tls: tls.private?.servers ?? null,
    verifier: calls.verifier,
    mountConsole: people.mount?.(calls) ?? null,
    ...(people.answerBadUrl && { answerBadUrl: people.answerBadUrl }),
    approvals,
    audit,
    authorizing,
    cards,
    keys,
    links: links.context,
    administration: { database, hsm, certificateListeners: certificateListeners(config) },
    sandbox: snapshots && { clock: sandboxClock, simulate, snapshots },
  })

  return {
    publicServer,
    privateServer,
    issuing,
    authorizing,
    deciding,
    delivering,
    keys,
    audit,
    approvals,
    sendApproved: sendApproved(calls, privateServer, config),
    calls,
    connections,
    tls: [tls.public, tls.private].filter((each) => each !== null),
    stopping,
    links: links.gateway,
    sandbox,
    clock,
  }
}

/**
 * Wakes background work after changes by clients and networks. A single database for all uses
 * cannot tell their changes from those of the work itself, which would wake itself for ever.
 */
const wakingDatabases = (databases: Databases, rests: Rests): Databases =>
  databases.clients === databases.background
    ? databases
    : {
        ...databases,
        clients: wakingDatabase(databases.clients, rests),
        networks: wakingDatabase(databases.networks, rests),
      }

/** A readiness probe has less time than a request. */
const readyWithinMs = 3_000

/** Resolves when everything that requests need answers. */
async function requireReady(databases: Databases, hsm: Hsm, peers: Peers | null): Promise<void> {
  if (peers && !peers.areReady()) throw new Error('Not all processes are ready yet.')
  const answered = Promise.all([pingDatabase(databases.networks), hsm.ping()])
  const isLate = sleep(readyWithinMs, true, { ref: false })
  if ((await Promise.race([answered, isLate])) === true)
    throw new Error('The answer took too long.')
}

/** Metrics beside those of the stored data. */
const watchedOptions = (config: Config, databases: Databases, hsm: Hsm, peers: Peers | null) => ({
  ready: () => requireReady(databases, hsm, peers),
  auditPages: createAuditSite(`${config.baseUrl}/.well-known/audit-log-keys`),
  effectiveLimits: config.effectiveLimits,
  addresses: { baseUrl: config.baseUrl, privateUrl: config.privateUrl },
  findUpkeep: () => findUpkeep(databases.background),
  pings: { database: () => pingDatabase(databases.networks), hsm: () => hsm.ping() },
})

/** Options of both listeners. */
const commonOptions = (
  config: Config,
  issuing: CardDataContext,
  metrics: Metrics,
  log: Logger,
) => ({
  log,
  metrics,
  callers: callerAddresses(config.network.trustedProxies),
  formats: stringFormats(() => formatDate(issuing.now())),
  // A keyed hash in the form of a request ID.
  async hashRequestId(requestId: string) {
    const hash = Buffer.from(await issuing.hsm.fingerprintRequestId(requestId))
    return `hash-${hash.subarray(0, 16).toString('base64url')}`
  },
  hosts: config.sandbox ? sandboxHosts(config) : null,
})

async function seed(config: Config, database: Database, hsm: Hsm): Promise<SandboxFile> {
  const { baseUrl, privateUrl, processorPath } = config
  const linkPort = config.sandboxLinkPort
  const seeding = { database, hsm, hashSecret: hashClientSecret, linkPort }
  const credentials = await seedSandbox(seeding)
  const tokenEndpoint = `${baseUrl}/oauth/token`
  const known = config.console.issuer ? [] : listSandboxOperators(credentials.admin.clientSecret)
  const people = known.map(({ groups, link, name }) => ({
    name,
    role: groups.join(),
    signInUrl: `${privateUrl}/console/sign-in?as=${link}`,
  }))
  return { baseUrl, privateUrl, processorPath, tokenEndpoint, people, ...credentials }
}

/** The host names of a sandbox: its own addresses and HOST_NAMES, with its own ports. */
function sandboxHosts(config: Config) {
  const { baseUrl, network, privateListener, privateUrl, publicListener } = config
  const hasPort = (name: string) => /:[0-9]+$/.test(name)
  const bare = network.hostNames.filter((name) => !hasPort(name))
  const names = ['localhost', '127.0.0.1', '[::1]', ...bare]
  const ports = [publicListener.port, privateListener.port]
  return new Set([
    ...network.hostNames,
    ...names.flatMap((name) => ports.map((port) => `${name}:${port}`)),
    new URL(baseUrl).host,
    new URL(privateUrl).host,
  ])
}
