import { readFileSync, statSync } from 'node:fs'
import { BlockList, isIPv6 } from 'node:net'
import { parse } from 'pg-connection-string'
import { toMembers } from '../../domain/members.ts'
import { parseDatabaseUrl } from '../../storage/engine/database-url.ts'

/** Whether a listener on this host can be reached from this machine alone. */
export const isLoopback = (host: string): boolean =>
  /^127(?:\.[0-9]{1,3}){3}$/.test(host) || ['::1', '[::1]', 'localhost'].includes(host)

/**
 * Describes how others can access a file of a secret. Null if only its owner can, or if root owns
 * it and one group can read it, as PostgreSQL permits for its own key and mounted secrets have it.
 * Also null without the file, and on Windows, whose permissions are not mode bits.
 */
export function findSecretFileFault(path: string): string | null {
  const found = findStat(path)
  if (!found) return null
  const allowed = found.uid === 0 ? 0o040 : 0
  return (found.mode & 0o077 & ~allowed) === 0 ? null : `${path} has mode ${octal(found.mode)}`
}

/**
 * Describes the fault of a file that all may read and only its owner may write; null when it has
 * none.
 */
export function findPublicFileFault(path: string): string | null {
  const found = findStat(path)
  if (!found || (found.mode & 0o002) === 0) return null
  return `${path} has mode ${octal(found.mode)}`
}

function findStat(path: string) {
  if (process.platform === 'win32') return null
  try {
    return statSync(path)
  } catch {
    // Opening the file reports that it is missing.
    return null
  }
}

/** The permissions of a file, as `chmod` takes them. */
export const octal = (mode: number): string => (mode & 0o777).toString(8).padStart(4, '0')

/** Parameters of a database URL that name a file. */
const databaseFiles = ['sslrootcert', 'sslcert', 'sslkey'] as const

/** Describes each file of a database URL that cannot be read. */
export function findDatabaseFileFaults(variable: string, url: string): readonly string[] {
  const query = new URLSearchParams(/\?([^#]*)/.exec(url)?.[1])
  return databaseFiles.flatMap((name) => {
    const path = query.get(name)
    if (path === null) return []
    try {
      readFileSync(path)
      return []
    } catch (error) {
      const { code } = toMembers(error)
      return [`${variable}: ${name} ${path} cannot be read: ${code}.`]
    }
  })
}

/** Defaults for a database URL without these parts: `PGHOST`, `PGSSLMODE`. */
interface AddressDefaults {
  readonly host: string | null
  readonly sslMode: string | null
}

/**
 * Describes how an attacker on the network could read or change the traffic to a database; null
 * when none could. It checks the address of each server as the driver reads it.
 */
export function findDatabaseUrlFault(url: string, defaults: AddressDefaults): string | null {
  try {
    const faults = parseDatabaseUrl(url).addresses.map((each) => findAddressFault(each, defaults))
    return faults.find((fault) => fault !== null) ?? null
  } catch {
    // Reading the variable reports this fault.
    return null
  }
}

function findAddressFault(url: string, defaults: AddressDefaults): string | null {
  let connection: ReturnType<typeof parse>
  try {
    connection = parse(url)
  } catch {
    // Reading the variable reports a file that cannot be read.
    if (findDatabaseFileFaults('', url).length > 0) return null
    return 'is not the address of a database'
  }
  const host = connection.host || defaults.host || 'localhost'
  if (isLoopback(host) || host.startsWith('/')) return null
  const { sslMode } = defaults
  // The values of `PGSSLMODE` for which the driver encrypts.
  const encryptingModes = ['prefer', 'require', 'verify-ca', 'verify-full']
  const defaultSsl = sslMode === 'no-verify' ? sslMode : encryptingModes.includes(sslMode ?? '')
  const ssl: unknown = connection.ssl ?? defaultSsl
  if (ssl === undefined || ssl === false) return `leads to ${host} without encryption`
  const { checkServerIdentity, rejectUnauthorized } = toMembers(ssl)
  if (rejectUnauthorized !== false && ssl !== 'no-verify' && !checkServerIdentity) return null
  return `leads to ${host} without verification of its certificate`
}

/** The minimum prefix lengths: a wider block contains unintended addresses. */
const narrowest = { ipv4: 8, ipv6: 16 }

/**
 * Where clouds hand out the credentials of a machine; the first as IPv6 spells it when it is mapped
 * or translated, too.
 */
const metadataAddresses = [
  '169.254.169.254',
  '::ffff:169.254.169.254',
  '64:ff9b::169.254.169.254',
  'fd00:ec2::254',
] as const

/** Returns the blocks that are larger than can be intended. */
export const wideBlocks = (cidrs: readonly string[]): readonly string[] =>
  cidrs.filter((cidr) => {
    const { bits, family } = parseSize(cidr)
    return bits < narrowest[family] || metadataAddresses.some((address) => contains(cidr, address))
  })

/**
 * Whether a block is so large that trusting it means trusting strangers, in IPv4 or mapped form.
 */
export function holdsStrangers(cidr: string): boolean {
  const { bits, family } = parseSize(cidr)
  const widest = family === 'ipv6' && contains(cidr, '::ffff:0.0.0.0') ? 96 + 8 : 8
  return bits < widest
}

function parseSize(cidr: string) {
  const [address = '', prefix] = cidr.split('/')
  const family = isIPv6(address) ? ('ipv6' as const) : ('ipv4' as const)
  return { address, family, bits: Number(prefix ?? (family === 'ipv6' ? 128 : 32)) }
}

function contains(cidr: string, other: string): boolean {
  const { address, bits, family } = parseSize(cidr)
  const otherFamily = isIPv6(other) ? 'ipv6' : 'ipv4'
  // Of two families Node would compare the mapped form with the block.
  if (family !== otherFamily) return false
  const block = new BlockList()
  block.addSubnet(address, bits, family)
  return block.check(other, otherFamily)
}
