import type { Logger } from 'pino'
import { Counter, Gauge, type Registry } from 'prom-client'
import type { ListenerName } from '../domain/client.ts'
import { Problem } from '../domain/problem.ts'
import { type Admission, createAdmission } from '../listeners/http/admission.ts'
import type { CallerAddresses } from '../listeners/http/caller-address.ts'
import { type Connections, createConnections } from '../listeners/http/connections.ts'
import type { Admissions } from '../listeners/http/in-flight.ts'
import { type Rate, rateLimiter, type SpendSharing } from '../listeners/http/rate-limit.ts'
import { tokenAttempts } from '../listeners/http/token-attempts.ts'
import type { Config } from './config/config.ts'
import type { NetworkConfig } from './config/limits.ts'

/** How many calls of a caller without a rate may wait. */
const queuedMax = 4_096

/**
 * Admits calls. A card network is limited only in the requests in flight: further requests wait,
 * and none is refused for its number alone. One client may use at most half of the calls in flight,
 * and as many of its calls may wait as its rate allows in one burst. Its answers to requests of
 * this service have the same bound beside its other calls, and wait as requests of a network do.
 */
export function createAdmissions({
  callWaitMs: waitMs,
  limits,
}: Pick<Config, 'callWaitMs' | 'limits'>): Admissions {
  const network = createAdmission({
    atOnce: 256,
    atOncePerCaller: 64,
    waitingPerCaller: queuedMax,
    waitMs,
    refuse: () => notBegun(waitMs),
  })
  if (limits === null) return { network }
  const { callsInFlight } = limits
  const admitClients = (waitingPerCaller: number): Admission =>
    createAdmission({
      atOnce: callsInFlight * 2,
      atOncePerCaller: callsInFlight,
      waitingPerCaller,
      waitMs,
      refuse: (_client, isAtOwnBound) =>
        isAtOwnBound
          ? new Problem('rate_limited', {
              detail:
                `The limit of ${callsInFlight} simultaneous calls of a client is reached: this ` +
                `call did not begin within ${waitMs / 1_000} seconds, or too many calls waited.`,
              retryAfterSeconds: 1,
            })
          : notBegun(waitMs),
    })
  const client = admitClients(limits.calls.burst)
  const answer = admitClients(queuedMax)
  return { network, client, answer }
}

const notBegun = (waitMs: number): Problem =>
  new Problem('unavailable', {
    detail: `The request did not begin within ${waitMs / 1_000} seconds. Nothing was done.`,
    retryAfterSeconds: 1,
  })

/** The maximum number of one client's waiting calls with a session key. */
const sessionKeysWaitingMax = 100

/** Queues clients' imports of session keys. An import occupies a thread, as RSA decryption does. */
export const admitSessionKeys = (): Admission =>
  createAdmission({
    // Half of the thread pool (4 threads), which the rest of the service also uses.
    atOnce: 2,
    atOncePerCaller: 2,
    waitingPerCaller: sessionKeysWaitingMax,
    waitMs: 60_000,
    refuse: () =>
      new Problem('rate_limited', {
        detail: `The limit of ${sessionKeysWaitingMax} waiting session-key calls is reached.`,
        retryAfterSeconds: 1,
      }),
  })

/**
 * Creates the rate limiters; none if limits are off.
 * @param share connects each limiter, by its name, with the same one of other processes; null in a
 *   single process.
 */
export function createLimiters(
  { limits }: Pick<Config, 'limits'>,
  share: ((limiter: string) => SpendSharing) | null,
) {
  if (limits === null) return { rate: null, openRate: null, tokenAttempts: null }
  const sharing = (limiter: string) => share?.(limiter) ?? null
  const limiter = (rate: Rate, name: string) =>
    rateLimiter(rate, undefined, undefined, sharing(name))
  const tokenRates = { client: limits.tokenCalls, address: limits.tokenFailures }
  return {
    rate: limiter(limits.calls, 'client calls'),
    openRate: limiter(limits.openCalls, 'open calls'),
    tokenAttempts: tokenAttempts(tokenRates, sharing),
  }
}

/** The interval of log lines about refused connections. */
const refusalLogMs = 60_000

/** Counts and bounds the connections of each listener. */
export function createListenerConnections(
  {
    connectionsMax,
    connectionsPerAddressMax,
    keepAliveSeconds,
  }: Pick<NetworkConfig, 'connectionsMax' | 'connectionsPerAddressMax' | 'keepAliveSeconds'>,
  callers: CallerAddresses,
  registry: Registry,
  log: Logger,
): Readonly<Record<ListenerName, Connections>> {
  const refusals = new Counter({
    name: 'pinfold_connections_refused_total',
    help: 'Connections closed at once, because the listener (all) or their address had too many.',
    labelNames: ['listener', 'reason'],
    registers: [registry],
  })
  const create = (listener: ListenerName): Connections => {
    let loggedAtMs = Number.NEGATIVE_INFINITY
    return createConnections({
      most: connectionsMax,
      mostPerAddress: connectionsPerAddressMax,
      callers,
      keepAliveMs: keepAliveSeconds * 1_000,
      onRefused(reason) {
        refusals.inc({ listener, reason })
        if (performance.now() - loggedAtMs < refusalLogMs) return
        loggedAtMs = performance.now()
        log.warn({ listener, reason }, 'connections are refused: there are too many')
      },
    })
  }
  const connections = { public: create('public'), private: create('private') }
  new Gauge({
    name: 'pinfold_connections',
    help: 'Open connections of a listener.',
    labelNames: ['listener'],
    registers: [registry],
    collect() {
      for (const listener of ['public', 'private'] as const) {
        this.set({ listener }, connections[listener].count())
      }
    },
  })
  return connections
}
