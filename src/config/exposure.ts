import { statSync } from 'node:fs'
import { BlockList, isIPv6 } from 'node:net'
import { parse } from 'pg-connection-string'

/** Whether a listener on this host can be reached from this machine alone. */
export const isLoopback = (host: string): boolean =>
  /^127(?:\.[0-9]{1,3}){3}$/.test(host) || ['::1', '[::1]', 'localhost'].includes(host)

/**
 * What others may do with a file of a secret, in a few words; null where it is its owner's alone, or root's
 * and one group's to read, which is how PostgreSQL holds its own key, and how secrets are mounted.
 * Null too where there is no such file, and on Windows, whose permissions are no bits.
 */
export function faultOfSecretFile(path: string): string | null {
  const found = statOf(path)
  if (!found) return null
  const allowed = found.uid === 0 ? 0o040 : 0
  return (found.mode & 0o077 & ~allowed) === 0 ? null : `${path} has mode ${octal(found.mode)}`
}

/** The same for a file that all may read, and none but its owner may write. */
export function faultOfPublicFile(path: string): string | null {
  const found = statOf(path)
  if (!found || (found.mode & 0o002) === 0) return null
  return `${path} has mode ${octal(found.mode)}`
}

function statOf(path: string) {
  if (process.platform === 'win32') return null
  try {
    return statSync(path)
  } catch {
    // Whoever opens it says that it is not there.
    return null
  }
}

const octal = (mode: number): string => (mode & 0o777).toString(8).padStart(4, '0')

/**
 * How a database is reached so that somebody between could read or change what goes by, in a few words;
 * null where nobody can. It is held to what the driver makes of the address.
 * @param defaults what counts where the address does not say it: `PGHOST`, `PGSSLMODE`.
 */
export function faultOfDatabaseUrl(
  url: string,
  defaults: { readonly host: string | null; readonly sslMode: string | null },
): string | null {
  const connection = parsed(url)
  if (connection === null) return 'is no address of a database, or names files that cannot be read'
  const host = connection.host || defaults.host || 'localhost'
  if (isLoopback(host) || host.startsWith('/')) return null
  const ssl: unknown = connection.ssl ?? sslOf(defaults.sslMode)
  if (ssl === undefined || ssl === false) return `leads to ${host} in clear`
  const { checkServerIdentity, rejectUnauthorized } = Object(ssl)
  if (rejectUnauthorized !== false && ssl !== 'no-verify' && !checkServerIdentity) return null
  return `leads to whoever says that it is ${host}`
}

function parsed(url: string) {
  try {
    return parse(url)
  } catch {
    return null
  }
}

/** What the driver takes for `PGSSLMODE`. */
function sslOf(mode: string | null): boolean | 'no-verify' {
  if (mode === 'no-verify') return mode
  return ['prefer', 'require', 'verify-ca', 'verify-full'].includes(mode ?? '')
}

/** A block so wide holds addresses that nobody meant. */
const narrowest = { ipv4: 8, ipv6: 16 }

/** Where clouds hand out the credentials of a machine; the first as IPv6 spells it when it is mapped or translated, too. */
const metadataAddresses = [
  '169.254.169.254',
  '::ffff:169.254.169.254',
  '64:ff9b::169.254.169.254',
  'fd00:ec2::254',
] as const

/** The blocks that hold more than somebody can have meant. */
export const wideBlocks = (cidrs: readonly string[]): readonly string[] =>
  cidrs.filter((cidr) => {
    const { bits, family } = sizeOf(cidr)
    return bits < narrowest[family] || metadataAddresses.some((address) => holds(cidr, address))
  })

/** Whether a block holds so many addresses that whoever trusts it trusts strangers, under IPv4 or mapped. */
export function holdsStrangers(cidr: string): boolean {
  const { bits, family } = sizeOf(cidr)
  const widest = family === 'ipv6' && holds(cidr, '::ffff:0.0.0.0') ? 96 + 8 : 8
  return bits < widest
}

function sizeOf(cidr: string) {
  const [address = '', prefix] = cidr.split('/')
  const family = isIPv6(address) ? ('ipv6' as const) : ('ipv4' as const)
  return { address, family, bits: Number(prefix ?? (family === 'ipv6' ? 128 : 32)) }
}

function holds(cidr: string, held: string): boolean {
  const { address, bits, family } = sizeOf(cidr)
  const heldFamily = isIPv6(held) ? 'ipv6' : 'ipv4'
  // Of two families Node would hold the mapped form against the block.
  if (family !== heldFamily) return false
  const block = new BlockList()
  block.addSubnet(address, bits, family)
  return block.check(held, heldFamily)
}
