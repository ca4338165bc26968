import type { Hsm } from '../hsm/contract/hsm.ts'
import type { EndpointContext } from '../operations/decisions/endpoints.ts'
import { createPingPost } from '../operations/decisions/ping.ts'
import { createEndpointRegistry } from '../operations/decisions/registry.ts'
import { createDecisionSigner } from '../operations/decisions/signing.ts'
import { nameServers } from '../outbound/resolve-host.ts'
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
