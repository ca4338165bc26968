import { processEnvironment, readCallerConfig } from '../../service/config/config.ts'
import type { Finding } from '../../service/doctor/finding.ts'
import {
  type Colours,
  type Command,
  type ConnectionOptions,
  exitCodes,
  UsageError,
} from '../command.ts'
import { presentCertificate } from '../connection/connection.ts'
import { examineServers, type ServerAddresses } from '../connection/named-servers.ts'
import { line } from '../output.ts'

export const doctorCommand: Command = {
  words: 'doctor',
  summary: 'checks configuration, files, database, HSM, clock and listeners, and says what to do',
  description:
    'It changes nothing, and can run beside a server. With --url or --private-url it checks ' +
    'the servers at these addresses\ninstead of this machine; the servers in PINFOLD_URL and ' +
    'PINFOLD_PRIVATE_URL are checked in addition to it. With a\nPKCS#11 token it logs in once, ' +
    'so a wrong PIN costs the token one try. Exits with 1 if it finds a fault; a warning ' +
    'is\nnot a fault.',
  connection: ['url', 'private-url'],
  example: 'SANDBOX=false DATABASE_URL=postgres://… pinfold doctor',
  async run({ options }) {
    const findings = await examineAll(options)
    const count = (verdict: Finding['verdict']) =>
      findings.filter((finding) => finding.verdict === verdict).length
    const faults = count('fault')
    const warnings = count('warning')
    const summary =
      faults + warnings === 0
        ? 'No faults were found.'
        : `${plural(faults, 'fault')}, ${plural(warnings, 'warning')}.`
    const lines = findings.map(({ check, found, remedy, verdict, why }) => {
      const said = line`${marks[verdict]}  ${check}: ${found}`
      return why === undefined
        ? said
        : `${said}\n${line`         why   ${why}`}\n${line`         do    ${remedy ?? ''}`}`
    })
    return {
      json: { healthy: faults === 0, faults, findings },
      text: [...lines, '', summary].join('\n'),
      colours,
      exitCode: faults === 0 ? exitCodes.done : exitCodes.refused,
    }
  },
}

/**
 * Checks this machine and the configured remote servers; with options, only the servers that they
 * name.
 */
async function examineAll(options: ConnectionOptions): Promise<readonly Finding[]> {
  const named = {
    url: parseAddress('--url', options.url),
    privateUrl: parseAddress('--private-url', options['private-url']),
  }
  if (named.url !== null || named.privateUrl !== null) return examineElsewhere(named)
  const caller = readCallerConfig()
  const configured = {
    url: parseAddress('PINFOLD_URL', caller.url),
    privateUrl: parseAddress('PINFOLD_PRIVATE_URL', caller.privateUrl),
  }
  const { examine } = await import('../../service/doctor/examine.ts')
  const findings = await examine(processEnvironment())
  return [...findings, ...(await examineElsewhere(configured))]
}

async function examineElsewhere(addresses: ServerAddresses): Promise<readonly Finding[]> {
  if (addresses.url === null && addresses.privateUrl === null) return []
  await presentCertificate(readCallerConfig())
  return examineServers(addresses)
}

/** @throws UsageError when it is given and is not a server's URL. */
function parseAddress(name: string, text: string | null | undefined): string | null {
  if (text === null || text === undefined) return null
  const address = URL.canParse(text) ? new URL(text) : null
  if (!address || !/^https?:$/.test(address.protocol) || address.username || address.password) {
    throw new UsageError(
      `${name} must be a URL that begins with http:// or https://, without user and password.`,
    )
  }
  return text.replace(/\/+$/, '')
}

const marks = {
  good: 'good   ',
  warning: 'warning',
  fault: 'FAULT  ',
}

const colours: Colours = {
  [marks.good]: 'green',
  [marks.warning]: 'yellow',
  [marks.fault]: 'red',
}

const plural = (count: number, word: string): string => `${count} ${word}${count === 1 ? '' : 's'}`
