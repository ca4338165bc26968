import { isLoopback, wideBlocks } from '../../config/exposure.ts'
import { parseConfig } from '../../config.ts'
import { type Check, fault, good, warning } from './finding.ts'

const nodeMajor = 24

/** The runtime: the program is plain TypeScript, which this version runs as it is. */
export const checkNode: Check = async () => {
  const { node } = process.versions
  if (Number(node.split('.')[0]) === nodeMajor) return [good('node', `Node ${node}.`)]
  return [
    fault(
      'node',
      `Node ${node} runs this, not Node ${nodeMajor}.`,
      'Nothing is proven on another version.',
      'Run npm ci, which brings the right one, and start it by npx pinfold.',
    ),
  ]
}

/** The environment, all of its faults at once. */
export const checkConfiguration: Check = async ({ environment }) => {
  const { faults } = parseConfig(environment)
  if (faults.length === 0) return [good('configuration', 'Complete.')]
  return faults.map((found) =>
    fault(
      'configuration',
      found,
      'The service refuses to start with it.',
      'Do as it says; README.md, “Configuration”, tells what each variable takes, docs/production.md what production refuses.',
    ),
  )
}

/** What production runs with because somebody says that it is meant: told, and no fault. */
export const checkAccepted: Check = async ({ config: { accepted } }) =>
  accepted.map(({ acceptance, found, remedy, why }) =>
    warning('accepted', `${acceptance} is yes: ${found}`, why, remedy),
  )

/** What may be said in the environment and is unwise. */
export const checkExposure: Check = async ({ config, environment }) => {
  const findings = []
  const { baseUrl, limits, privateListener, publicListener, sandbox } = config
  const beyond = [publicListener.host, privateListener.host].filter((host) => !isLoopback(host))
  if (sandbox && beyond.length > 0) {
    findings.push(
      warning(
        'exposure',
        `A sandbox listens on ${beyond.join(' and ')}.`,
        'Its credentials are test credentials, and it has a simulator: whoever reaches it may use it.',
        'Set HOST and PRIVATE_HOST to 127.0.0.1, or SANDBOX=false for a service that others use.',
      ),
    )
  }
  if (sandbox && limits === null) {
    findings.push(
      warning(
        'exposure',
        'RATE_LIMIT is off.',
        'Nothing bounds how often PINs are shown and tries restored.',
        'Leave RATE_LIMIT out once the load test is over.',
      ),
    )
  }
  if (sandbox && environment.NODE_TLS_REJECT_UNAUTHORIZED === '0') {
    findings.push(
      fault(
        'exposure',
        'NODE_TLS_REJECT_UNAUTHORIZED is 0.',
        'No certificate is checked: webhooks and an outside issuer may be anybody.',
        'Take it out; name a private authority by NODE_EXTRA_CA_CERTS.',
      ),
    )
  }
  if (sandbox && new URL(baseUrl).protocol === 'http:' && !isLoopback(new URL(baseUrl).hostname)) {
    findings.push(
      fault(
        'base-url',
        `BASE_URL is ${baseUrl}: http, and not this machine.`,
        'Tokens, secrets and PINs travel in clear.',
        'Put TLS in front of the service, and its https address into BASE_URL.',
      ),
    )
  }
  return findings.length > 0 ? findings : [good('exposure', 'Nothing is open that need not be.')]
}

/** Which addresses webhooks may reach although they are not public. Of production the table says it. */
export const checkEgress: Check = async ({ config }) => {
  const wide = config.sandbox ? wideBlocks(config.delivery.allowCidrs ?? []) : []
  if (wide.length === 0)
    return [good('egress', 'Webhooks reach public addresses, and those listed.')]
  return [
    fault(
      'egress',
      `OUTBOUND_ALLOW_CIDRS lists ${wide.join(' and ')}.`,
      'A client could have this machine call anything inside your network.',
      'List only the blocks in which endpoints of your own lie, such as 10.20.0.0/16.',
    ),
  ]
}
