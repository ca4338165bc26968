import type { FetchJson } from '../listeners/oauth/issuer-keys.ts'
import { addressPolicy } from '../outbound/address-policy.ts'
import { guardedRequests, jsonFetcher, responseFetcher } from '../outbound/guarded-request.ts'
import { machineNames } from '../outbound/resolve-host.ts'
import type { TargetRules } from '../outbound/target-url.ts'
import type { Config } from './config/config.ts'

const loopbackCidrs = ['127.0.0.0/8', '::1']

/**
 * Returns the rules for outgoing calls, which are the same for clients' endpoints and for issuers
 * of tokens.
 */
export function targetRules(config: Config): TargetRules {
  const { baseUrl, privateListener, privateUrl, publicListener, sandbox } = config
  const allowCidrs = config.delivery.allowCidrs ?? (sandbox ? loopbackCidrs : [])
  const { ports } = config.delivery
  const ownPorts = [publicListener.port, privateListener.port]
  return {
    httpsOnly: !sandbox,
    ports,
    ownUrls: [baseUrl, privateUrl],
    judgeAddress: addressPolicy({ allowCidrs, ownPorts, ports }),
  }
}

/**
 * Reads the documents of outside issuers. Names are resolved as this machine does, and the
 * addresses are checked: the operator controls neither the name servers nor the URLs in the
 * metadata.
 */
export const issuerFetcher = (config: Config): FetchJson =>
  jsonFetcher(guardedRequests({ ...targetRules(config), resolve: machineNames }))

/** Sends the sign-in requests to the operators' issuer of identities, by the same rules. */
export const identityFetcher = (config: Config) =>
  responseFetcher(guardedRequests({ ...targetRules(config), resolve: machineNames }))
