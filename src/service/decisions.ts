import type { Logger } from 'pino'
import { Counter, Gauge, Histogram, type Registry } from 'prom-client'
import type { Hsm } from '../hsm/contract/hsm.ts'
import type { AuthorizationContext } from '../operations/authorizations/authorization.ts'
import { type Asker, type AskObserver, createAsker } from '../operations/decisions/ask.ts'
import { createDecisions } from '../operations/decisions/decide.ts'
import type { EndpointContext } from '../operations/decisions/endpoints.ts'
import { createPingPost } from '../operations/decisions/ping.ts'
import { createEndpointRegistry } from '../operations/decisions/registry.ts'
import { createDecisionSigner } from '../operations/decisions/signing.ts'
import { nameServers } from '../outbound/resolve-host.ts'
import { simulatorNetwork } from '../sandbox/demo-data.ts'
import type { Databases } from '../storage/engine/database.ts'
import type { Config } from './config/config.ts'
import { targetRules } from './outbound.ts'

/** Creates the context of the operations on decision endpoints from the configuration. */
export const createDecisionEndpoints = (
  config: Config,
  databases: Databases,
  hsm: Hsm,
): EndpointContext => ({
  database: databases.clients,
  hsm,
  // Authorizations read them.
  registry: createEndpointRegistry(databases.networks),
  signer: createDecisionSigner({ database: databases.networks, hsm }),
  postPing: createPingPost({ ...targetRules(config), resolve: nameServers() }),
})

/** What lets the clients of cards decide. */
export interface Deciding {
  readonly asker: Asker
  readonly decisions: NonNullable<AuthorizationContext['decisions']>
}

/** Lets the clients of cards decide the authorizations of this context. */
export function createDeciding(
  config: Config,
  authorizing: Omit<AuthorizationContext, 'decisions'>,
  { registry, signer }: Pick<EndpointContext, 'registry' | 'signer'>,
  observe: AskObserver,
): Deciding {
  const rules = { ...targetRules(config), resolve: nameServers() }
  const asker = createAsker({ rules, signer, isSandbox: config.sandbox, observe })
  const decisions = createDecisions({
    ...authorizing,
    registry,
    ask: asker.ask,
    isSimulator: (networkId) => networkId === simulatorNetwork.clientId,
  })
  return { asker, decisions }
}

/** Counts what clients are asked and answer. */
export function askObserver(registry: Registry, log: Logger): AskObserver {
  const registers = [registry]
  const durations = new Histogram({
    name: 'pinfold_decision_seconds',
    help: 'Time from a request to a client until its answer, or until there is none.',
    labelNames: ['purpose', 'outcome'],
    buckets: [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 1.5, 2.5],
    registers,
  })
  const late = new Counter({
    name: 'pinfold_late_decisions_total',
    help: 'Answers of clients that came after their deadline.',
    registers,
  })
  return {
    asked(purpose, { answer, durationMs, error }) {
      const outcome = answer?.decision ?? error ?? 'timeout'
      durations.observe({ purpose, outcome }, durationMs / 1_000)
    },
    answeredLate() {
      late.inc()
    },
    breakerChanged({ clientId, productId, version }, _request, change) {
      log.warn({ clientId, productId, version, change }, 'an endpoint for decisions changed')
    },
  }
}

/** Shows what an asker does at a moment. */
export function watchAsker(registry: Registry, { load }: Pick<Asker, 'load'>): void {
  const gauge = (name: string, help: string, read: () => number) =>
    new Gauge({
      name,
      help,
      registers: [registry],
      collect() {
        this.set(read())
      },
    })
  gauge(
    'pinfold_decisions_in_flight',
    'Requests to clients that wait for an answer.',
    () => load().inFlight,
  )
  gauge(
    'pinfold_decision_breakers_open',
    'Endpoints that are sent nothing but probes.',
    () => load().openBreakers,
  )
}
