import { discoverJwksUri } from '../../oauth/issuer-metadata.ts'
import { type Check, type Finding, fault, good, messageOf } from './finding.ts'

/** Outside issuers of tokens: each must be found, under the name that it has here. */
export const checkIssuers: Check = async ({ config }) => {
  const issuers = [config.outsideIssuer, config.privateOutsideIssuer].flatMap((each) =>
    each ? [each.issuer] : [],
  )
  return Promise.all([...new Set(issuers)].map(checkIssuer))
}

const checkIssuer = (issuer: string): Promise<Finding> =>
  discoverJwksUri(globalThis.fetch, issuer).then(
    () => good('issuer', `${issuer} answers.`),
    (error: unknown) =>
      fault(
        'issuer',
        `${issuer} tells no keys: ${messageOf(error)}`,
        'No token can be verified, so every call is refused.',
        'Set AUTH_ISSUER (or PRIVATE_AUTH_ISSUER) to the letter as the issuer tells it, and let this machine reach it.',
      ),
  )
