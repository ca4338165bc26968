import type { Hsm } from '../hsm/contract/hsm.ts'
import type { AuthorizationContext } from '../operations/authorizations/authorization.ts'
import { type Asker, type AskObserver, createAsker } from '../operations/decisions/ask.ts'
import { type ClientAskObserver, createClientAsker } from '../operations/decisions/ask-client.ts'
import { createCalledAnswers } from '../operations/decisions/calls.ts'
import { composeRows } from '../operations/decisions/compose-row.ts'
import { createDecisions } from '../operations/decisions/decide.ts'
import type { DecidingContext } from '../operations/decisions/deciding.ts'
import type { EndpointContext } from '../operations/decisions/endpoints.ts'
import { createLanes } from '../operations/decisions/lanes.ts'
import { createPingPost } from '../operations/decisions/ping.ts'
import { createEndpointRegistry } from '../operations/decisions/registry.ts'
import { createShadows, type ShadowObserver, type Shadows } from '../operations/decisions/shadow.ts'
import { createDecisionSigner } from '../operations/decisions/signing.ts'
import { createDecisionStreams } from '../operations/decisions/streams.ts'
import type { StandInContext } from '../operations/decisions/sweep.ts'
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

/** Receives what operators see of decisions. */
export type DecisionObserver = Omit<AskObserver, 'faulted'> &
  ClientAskObserver &
  Pick<ShadowObserver, 'compared'> &
  Pick<StandInContext, 'ruleFailed'>

/** The parts with which the clients of cards decide. */
export interface Deciding {
  readonly asker: Asker
  readonly decisions: NonNullable<AuthorizationContext['decisions']>
  /** It also asks shadow versions, after the answers that it observes. */
  readonly observe: AuthorizationContext['observe']
  readonly shadows: Shadows
  /** The context that concludes the decisions of lost processes. */
  readonly concluding: StandInContext
  /** The context of the calls of clients about decisions. */
  readonly calls: DecidingContext
}

/** Lets the clients of cards decide the authorizations of this context. */
export function createDeciding(
  config: Config,
  authorizing: Omit<AuthorizationContext, 'decisions'>,
  { database, registry, signer }: Pick<EndpointContext, 'database' | 'registry' | 'signer'>,
  observeAsks: DecisionObserver,
  onError: (error: unknown) => void,
): Deciding {
  const lanes = createLanes({ ...targetRules(config), resolve: nameServers() })
  const asker = createAsker({
    lanes,
    signer,
    isSandbox: config.sandbox,
    now: authorizing.now,
    observe: { ...observeAsks, faulted: onError },
  })
  const answers = createCalledAnswers(authorizing.database, onError)
  const compose = composeRows({ signer, isSandbox: config.sandbox })
  const streams = createDecisionStreams({ database, answers, compose, onError })
  const ask = createClientAsker({ asker, answers, streams, lanes, observe: observeAsks })
  const { compared } = observeAsks
  const shadows = createShadows({ database, ask, observe: { compared, faulted: onError } })
  const observe: AuthorizationContext['observe'] = {
    ...authorizing.observe,
    answered(authorization) {
      authorizing.observe.answered(authorization)
      shadows.answered(authorization)
    },
  }
  const concluding = { ...authorizing, observe, ruleFailed: observeAsks.ruleFailed }
  const decisions = createDecisions({
    ...concluding,
    registry,
    ask,
    shadows,
    isSimulator: (networkId) => networkId === simulatorNetwork.clientId,
  })
  const calls = { database, now: authorizing.now, registry, answers, streams, ask }
  return { asker, decisions, observe, shadows, concluding, calls }
}
