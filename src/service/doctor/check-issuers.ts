import { discoverJwksUri, type FetchJson } from '../../oauth/issuer-metadata.ts'
import { issuerFetcher } from '../outbound.ts'
import { type Check, type Finding, fault, good, messageOf } from './finding.ts'

/** Outside issuers of tokens: each must be found, under the name that it has here. */
export const checkIssuers: Check = async ({ config }) => {
  const issuers = [config.outsideIssuer, config.privateOutsideIssuer].flatMap((each) =>
    each ? [each.issuer] : [],
  )
  const fetchJson = issuerFetcher(config)
  return Promise.all([...new Set(issuers)].map((issuer) => checkIssuer(fetchJson, issuer)))
}

const checkIssuer = (fetchJson: FetchJson, issuer: string): Promise<Finding> =>
  discoverJwksUri(fetchJson, issuer).then(
    () => good('issuer', `${issuer} answers.`),
    (error: unknown) =>
      fault(
        'issuer',
        `${issuer} tells no keys: ${messageOf(error)}`,
        'No token can be verified, so every call is refused.',
        'Set AUTH_ISSUER (or PRIVATE_AUTH_ISSUER) to the letter as the issuer tells it, let this machine reach it, and list it in OUTBOUND_ALLOW_CIDRS where its address is not public.',
      ),
  )
