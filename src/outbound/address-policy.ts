import { BlockList, isIP } from 'node:net'
import { networkInterfaces } from 'node:os'

/** The verdict on an address: public, an exception listed by the operator, or refused. */
type AddressVerdict = 'public' | 'exception' | 'refused'

interface AddressRules {
  /** Address blocks that may be called although they are not public: `127.0.0.0/8`. */
  readonly allowCidrs: readonly string[]
  /** Ports that may be called; null for all of them. */
  readonly ports: readonly number[] | null
  /** Ports that this service listens on: never called on this machine. */
  readonly ownPorts: readonly number[]
}

/** The verdict on an address in its numeric form, and a port on it. */
export type AddressPolicy = (address: string, port: number) => AddressVerdict

/**
 * IPv4 addresses that are not globally reachable, or are no single host's (IANA special-purpose
 * address registry, RFC 6890; multicast, RFC 5771).
 */
const notPublicIpv4 = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.31.196.0/24',
  '192.52.193.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '192.175.48.0/24',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
]

/** All of IPv6's global unicast (RFC 4291, section 2.4; IANA). */
const globalIpv6 = ['2000::/3']

/**
 * Its special blocks: protocol assignments and Teredo, documentation, 6to4, AS112, documentation
 * again.
 */
const notPublicIpv6 = ['2001::/23', '2001:db8::/32', '2002::/16', '2620:4f:8000::/48', '3fff::/20']

/**
 * Refuses addresses that are private, loopback, link-local, multicast, mapped, translated or
 * reserved, except exceptions. Always refuses this service itself and ports that may not be called.
 */
export function addressPolicy({ allowCidrs, ownPorts, ports }: AddressRules): AddressPolicy {
  // Separate families: Node would check a mapped address (::ffff:127.0.0.1) by the rules of IPv4.
  const exceptions = { 4: createBlockList(allowCidrs, 4), 6: createBlockList(allowCidrs, 6) }
  return (address, port) => {
    const family = isIP(address)
    if (family !== 4 && family !== 6) return 'refused'
    if (ports !== null && !ports.includes(port)) return 'refused'
    if (ownPorts.includes(port) && isThisMachine(address)) return 'refused'
    if (isPublic(address, family)) return 'public'
    return contains(exceptions[family], address, family) ? 'exception' : 'refused'
  }
}

type Family = 4 | 6

function createBlockList(cidrs: readonly string[], family: Family): BlockList {
  const list = new BlockList()
  for (const cidr of cidrs) {
    const [address = '', prefix] = cidr.split('/')
    if (isIP(address) !== family) continue
    list.addSubnet(address, Number(prefix ?? (family === 4 ? 32 : 128)), toAddressType(family))
  }
  return list
}

const toAddressType = (family: Family): 'ipv4' | 'ipv6' => (family === 4 ? 'ipv4' : 'ipv6')

const refusedIpv4 = createBlockList(notPublicIpv4, 4)
const grantedIpv6 = createBlockList(globalIpv6, 6)
const refusedIpv6 = createBlockList(notPublicIpv6, 6)

const contains = (list: BlockList, address: string, family: Family): boolean =>
  list.check(address, toAddressType(family))

const isPublic = (address: string, family: Family): boolean =>
  family === 4
    ? !contains(refusedIpv4, address, 4)
    : contains(grantedIpv6, address, 6) && !contains(refusedIpv6, address, 6)

const thisMachine = createBlockList(['127.0.0.0/8', '0.0.0.0/32'], 4)
const thisMachineIpv6 = createBlockList(['::1/128', '::/128', '::ffff:0:0/96'], 6)

function isThisMachine(address: string): boolean {
  const family = isIP(address) === 6 ? 6 : 4
  if (contains(family === 4 ? thisMachine : thisMachineIpv6, address, family)) return true
  const own = new BlockList()
  for (const { address: mine, family: kind } of Object.values(networkInterfaces()).flatMap(
    (addresses) => addresses ?? [],
  )) {
    own.addAddress(mine, kind === 'IPv6' ? 'ipv6' : 'ipv4')
  }
  return contains(own, address, family)
}
