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
