import type { IncomingMessage } from 'node:http'
import { BlockList, isIP } from 'node:net'

/**
 * Where requests come from, and which of the addresses in front of this service are its own
 * proxies.
 */
export interface CallerAddresses {
  /** Whether an address, as a socket names it, is one of the operator's proxies. */
  isProxy(address: string | undefined): boolean
  /**
   * The address that a request comes from: the peer's own, or, where the peer is a proxy, the last
   * one in `X-Forwarded-For` that no proxy has. What stands before it the caller may have written
   * itself.
   */
  findAddress(request: Pick<IncomingMessage, 'socket' | 'headers'>): string
}

/**
 * Reads addresses. The framework's own reading (`trustProxy`) would take the host and the protocol
 * from a proxy, too, and with them the check of `Host` in the sandbox.
 * @param trustedProxies blocks of addresses; none: no header is believed.
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
        // What is no address was not written by a proxy of ours: the one that sent it answers for
        // it.
        if (before === null) break
        address = before
      }
      return address
    },
  }
}

/** A connection that is gone has no address any more. */
const noAddress = '::'

/**
 * An address in its one form: IPv6 abbreviated, in lower case and without a zone; IPv4 also where
 * it was mapped into IPv6. Some proxies add the port that they were called from: it is left out.
 * @returns null where the text is no address.
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

/** Whether an address, as a socket names it, is in one of these blocks of addresses. */
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
 * Whom an address is charged to: itself in IPv4. In IPv6 its /64, which is the least that one
 * subscriber has (RFC 6177): single addresses of it cost nothing.
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
