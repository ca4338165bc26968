import { stat } from 'node:fs/promises'
import { openTokenSession } from '../../hsm/pkcs11/session.ts'
import { discoverJwksUri } from '../../listeners/oauth/issuer-keys.ts'
import { parseConfig } from '../config/config.ts'
import { isLoopback, wideBlocks } from '../config/exposure.ts'
import { findUnknownVariables } from '../config/unknown-variables.ts'
import { issuerFetcher } from '../outbound.ts'
import { type Check, describeError, fault, good, warning } from './finding.ts'

/** Tested versions of Node: the major number, with the first minor number. */
const triedFrom = new Map([
  [22, 13],
  [24, 0],
])

/** Checks the runtime. A clone installs it with `npm ci`; a package runs on the machine's own. */
export const checkNode: Check = async () => {
  const { node } = process.versions
  const [major = 0, minor = 0] = node.split('.').map(Number)
  if (minor >= (triedFrom.get(major) ?? Number.POSITIVE_INFINITY))
    return [good('node', `Node ${node}.`)]
  return [
    warning(
      'node',
      `This is Node ${node}, neither Node 24 nor Node 22.13 or later.`,
      'Other versions are not tested.',
      'Use Node 24: for a package, the Node of this machine; for a clone, npm ci and npx pinfold.',
    ),
  ]
}

/** Reports all faults of the environment. */
export const checkConfiguration: Check = async ({ environment }) => {
  const { faults } = parseConfig(environment)
  const unknown = findUnknownVariables(environment).map((found) =>
    warning(
      'configuration',
      found,
      'The service uses the default of the intended variable.',
      'Correct the name, or remove the variable. docs/reference/configuration.md lists all names.',
    ),
  )
  if (faults.length === 0) return [good('configuration', 'Complete.'), ...unknown]
  const refused = faults.map((found) =>
    fault(
      'configuration',
      found,
      'The service refuses to start with it.',
      'Correct it. docs/reference/configuration.md lists the values of each variable, ' +
        'docs/reference/production.md what production refuses.',
    ),
  )
  return [...refused, ...unknown]
}

/** Warns of risks that the configuration accepts in production. */
export const checkAccepted: Check = async ({ config: { accepted } }) =>
  accepted.map(({ acceptance, found, remedy, why }) =>
    warning('accepted', `${acceptance} is yes: ${found}`, why, remedy),
  )

/** Warns of permitted but unwise settings. */
export const checkExposure: Check = async ({ config, environment }) => {
  const findings = []
  const { baseUrl, limits, privateListener, publicListener, sandbox } = config
  const beyond = [publicListener.host, privateListener.host].filter((host) => !isLoopback(host))
  if (sandbox && beyond.length > 0) {
    findings.push(
      warning(
        'exposure',
        `A sandbox listens on ${beyond.join(' and ')}.`,
        'Its credentials are test credentials, and it has a simulator: every caller that can ' +
          'connect can use it.',
        'Set HOST and PRIVATE_HOST to 127.0.0.1, or SANDBOX=false for a service with other users.',
      ),
    )
  }
  if (sandbox && limits === null) {
    findings.push(
      warning(
        'exposure',
        'RATE_LIMIT is off.',
        'The number of revealed PINs and restored tries has no limit.',
        'Remove RATE_LIMIT after the load test.',
      ),
    )
  }
  if (sandbox && environment.NODE_TLS_REJECT_UNAUTHORIZED === '0') {
    findings.push(
      fault(
        'exposure',
        'NODE_TLS_REJECT_UNAUTHORIZED is 0.',
        'No certificate is checked: webhook receivers and the issuer are not authenticated.',
        'Remove it; name a private authority in NODE_EXTRA_CA_CERTS.',
      ),
    )
  }
  if (sandbox && new URL(baseUrl).protocol === 'http:' && !isLoopback(new URL(baseUrl).hostname)) {
    findings.push(
      fault(
        'base-url',
        `BASE_URL is ${baseUrl}: http to another machine.`,
        'Tokens, secrets and PINs are sent in clear.',
        'Put TLS in front of the service, and set BASE_URL to its https address.',
      ),
    )
  }
  return findings.length > 0
    ? findings
    : [good('exposure', 'No setting exposes the service without need.')]
}

/**
 * Lists the addresses that webhooks may reach although they are not public. In production, the
 * table of refusals covers this.
 */
export const checkEgress: Check = async ({ config }) => {
  const wide = config.sandbox ? wideBlocks(config.delivery.allowCidrs ?? []) : []
  if (wide.length === 0) {
    const found = 'Webhooks can reach only public addresses and those in OUTBOUND_ALLOW_CIDRS.'
    return [good('egress', found)]
  }
  return [
    fault(
      'egress',
      `OUTBOUND_ALLOW_CIDRS lists ${wide.join(' and ')}.`,
      'A client could make this machine call any address in your network.',
      'List only the blocks of your own endpoints, such as 10.20.0.0/16.',
    ),
  ]
}

/** Describes the HSM and checks that a token accepts this program's PIN. */
export const checkHsm: Check = async ({ config: { pkcs11, sandbox } }) => {
  if (pkcs11 === null) {
    // The accepted risk explains the meaning.
    return [good('hsm', sandbox ? 'Software, the HSM of a sandbox.' : 'Software.')]
  }
  if (pkcs11.module === '' || pkcs11.pinFile === '') return []
  if (!(await stat(pkcs11.module).catch(() => null))) {
    return [
      fault(
        'hsm',
        `The PKCS#11 module ${pkcs11.module} does not exist.`,
        'Without it no key can be used: the service cannot start.',
        "Set PKCS11_MODULE to the vendor's shared library, such as " +
          '/usr/lib/softhsm/libsofthsm2.so.',
      ),
    ]
  }
  try {
    openTokenSession(pkcs11).end()
    return [good('hsm', `The token ${pkcs11.tokenLabel} accepts this program.`)]
  } catch (error) {
    return [
      fault(
        'hsm',
        `The PKCS#11 token cannot be used: ${describeError(error)}`,
        'Without it no key can be used: the service cannot start.',
        'Check PKCS11_TOKEN_LABEL and the PIN in PKCS11_PIN_FILE. Do not retry with a wrong ' +
          'PIN: a token locks after a few attempts.',
      ),
    ]
  }
}

/** Checks that each outside issuer can be found under its configured name. */
export const checkIssuers: Check = async ({ config }) => {
  const issuers = [config.outsideIssuer, config.privateOutsideIssuer].flatMap((each) =>
    each ? [each.issuer] : [],
  )
  const fetchJson = issuerFetcher(config)
  return Promise.all(
    [...new Set(issuers)].map((issuer) =>
      discoverJwksUri(fetchJson, issuer).then(
        () => good('issuer', `${issuer} answers.`),
        (error: unknown) =>
          fault(
            'issuer',
            `${issuer} publishes no keys: ${describeError(error)}`,
            'No token can be verified, so every call is rejected.',
            'Set AUTH_ISSUER (or PRIVATE_AUTH_ISSUER) exactly as the issuer publishes it, ' +
              'allow this machine to connect to it, and list a non-public address in ' +
              'OUTBOUND_ALLOW_CIDRS.',
          ),
      ),
    ),
  )
}
