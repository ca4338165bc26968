import type { IncomingMessage } from 'node:http'
import { BlockList, isIP } from 'node:net'

/** The addresses of callers, and of the service's own proxies. */
export interface CallerAddresses {
  /** Whether an address of a socket belongs to a trusted proxy. */
  isProxy(address: string | undefined): boolean
  /**
   * Returns the address of the caller: the peer's own or, if the peer is a proxy, the last address
   * in `X-Forwarded-For` that does not belong to a proxy. The caller may have forged the earlier
   * ones.
   */
  findAddress(request: Pick<IncomingMessage, 'socket' | 'headers'>): string
}

/**
 * Creates the reader of addresses. The framework's own option (`trustProxy`) would also accept the
 * host and the protocol from a proxy, and so bypass the check of `Host` in the sandbox.
 * @param trustedProxies blocks of addresses; without any, the header is ignored.
 */
export function callerAddresses(trustedProxies: readonly string[]): CallerAddresses {
  const isTrusted = addressesIn(trustedProxies)
  return {
    isProxy: isTrusted,
    findAddress({ headers, socket }) {
      let address = plainAddress(socket.remoteAddress ?? '') ?? noAddress
      const forwarded = String(headers['x-forwarded-for'] ?? '').split(',')
      while (isTrusted(address) && forwarded.length > 0) {
        const before = plainAddress(forwarded.pop() ?? '')
        // The entry is not an address, so no trusted proxy wrote it: its sender counts as the
        // caller.
        if (before === null) break
        address = before
      }
      return address
    },
  }
}

/** A closed connection has no address. */
const noAddress = '::'

/**
 * Normalizes an address: IPv6 abbreviated, in lower case, without a zone; IPv4-mapped addresses
 * become IPv4. A port, which some proxies add, is removed.
 * @returns null if the text is not an address.
 */
export function plainAddress(text: string): string | null {
  const [, bracketed, withPort] =
    /^(?:\[([0-9a-f:.]+)\](?::\d{1,5})?|(\d+(?:\.\d+){3}):\d{1,5})$/i.exec(text.trim()) ?? []
  const address = bracketed ?? withPort ?? text.trim().replace(/%.*$/, '')
  const family = isIP(address)
  if (family === 4) return address
  if (family !== 6) return null
  const plain = new URL(`http://[${address}]`).hostname.slice(1, -1)
  const [, high, low] = /^::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})$/.exec(plain) ?? []
  if (high === undefined || low === undefined) return plain
  const bits = parseInt(high + low.padStart(4, '0'), 16)
  return [24, 16, 8, 0].map((shift) => (bits >>> shift) & 255).join('.')
}

/** Whether an address of a socket is in one of these blocks. */
export function addressesIn(cidrs: readonly string[]): (given: string | undefined) => boolean {
  const blocks = new BlockList()
  for (const cidr of cidrs) {
    const [address = '', prefix] = cidr.split('/')
    const isIpv4 = isIP(address) === 4
    blocks.addSubnet(address, Number(prefix ?? (isIpv4 ? 32 : 128)), isIpv4 ? 'ipv4' : 'ipv6')
  }
  return (given) => {
    const address = plainAddress(given ?? '')
    return address !== null && blocks.check(address, isIP(address) === 4 ? 'ipv4' : 'ipv6')
  }
}

/**
 * Returns the network that is charged for an address: in IPv4 the address itself, in IPv6 its /64,
 * the smallest network of a subscriber (RFC 6177). Single IPv6 addresses are free.
 */
export function toNetwork(address: string): string {
  if (!address.includes(':')) return address
  const [head = '', tail] = address.split('::')
  const groups = head === '' ? [] : head.split(':')
  if (tail !== undefined) {
    const after = tail === '' ? [] : tail.split(':')
    groups.push(...Array<string>(8 - groups.length - after.length).fill('0'), ...after)
  }
  return `${groups.slice(0, 4).join(':')}::/64`
}
