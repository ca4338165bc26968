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
  summary: 'looks at configuration, files, database, HSM, clock and listeners, and says what to do',
  description:
    'It changes nothing, and works beside a server that runs. With --url or --private-url it ' +
    'examines the servers at\nthese addresses, and nothing of this machine; those that ' +
    'PINFOLD_URL and PINFOLD_PRIVATE_URL name it examines beside\nthis machine. With a PKCS#11 ' +
    'token it logs in once, so a wrong PIN costs the token one try. Exits with 1 where ' +
    'there\nis a fault; a warning alone is no fault.',
  connection: ['url', 'private-url'],
  example: 'SANDBOX=false DATABASE_URL=postgres://… pinfold doctor',
  async run({ options }) {
    const findings = await examineAll(options)
    const count = (verdict: Finding['verdict']) =>
      findings.filter((finding) => finding.verdict === verdict).length
    const [faults, warnings] = [count('fault'), count('warning')]
    const summary =
      faults + warnings === 0
        ? 'Nothing is wrong.'
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
 * This machine, and the servers elsewhere that are named; where an option names one, these alone.
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

/** @throws UsageError where it is given and is no address of a server. */
function parseAddress(name: string, text: string | null | undefined): string | null {
  if (text === null || text === undefined) return null
  const address = URL.canParse(text) ? new URL(text) : null
  if (!address || !/^https?:$/.test(address.protocol) || address.username || address.password) {
    throw new UsageError(
      `${name} must be a URL that begins with http:// or https://, without a user or a password.`,
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
