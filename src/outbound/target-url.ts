import { isIP } from 'node:net'
import { holdsPan, withoutUuids } from '../domain/pan.ts'
import type { AddressPolicy } from './address-policy.ts'

export interface TargetRules {
  /** Whether only https is allowed: everywhere except in the sandbox. */
  readonly httpsOnly: boolean
  /** Ports that may be called; null for all of them. */
  readonly ports: readonly number[] | null
  /** The service's own URLs: never called. */
  readonly ownUrls: readonly string[]
  readonly judgeAddress: AddressPolicy
}

/** Describes the fault of a client's URL, as far as its text shows; null without one. */
export type TargetCheck = (text: string) => string | null

/**
 * Checks a URL by the rules. Names are not resolved here, since only the address at the time of the
 * call matters.
 */
export const targetCheck = (rules: TargetRules): TargetCheck => {
  const { httpsOnly, ports, judgeAddress } = rules
  const scheme = httpsOnly ? 'must be an https URL' : 'must be an http or https URL'
  const own = new Set(rules.ownUrls.map((url) => hostAndPort(new URL(url))))
  return function faultOf(text) {
    if (!URL.canParse(text)) return 'must be an absolute URL'
    // The parser normalizes `0x7f.1`, `2130706433` and `0177.0.0.1` to `127.0.0.1`.
    const url = new URL(text)
    const port = parsePort(url)
    const host = isLocalhost(parseHost(url)) ? '127.0.0.1' : parseHost(url)
    const isRefusedAddress = isIP(host) !== 0 && judgeAddress(host, port) === 'refused'
    const faults: readonly (readonly [boolean, string])[] = [
      [!/^https?:$/.test(url.protocol), scheme],
      [httpsOnly && url.protocol !== 'https:', scheme],
      [url.username !== '' || url.password !== '', 'must not contain a user name or password'],
      [url.hash !== '', 'must not have a fragment'],
      [holdsPan(withoutUuids(decoded(text))), 'must not contain a card number'],
      [url.port === '0' || parseHost(url) === '', 'must have a host'],
      [ports?.includes(port) === false, `must have one of the ports ${ports?.join(', ')}`],
      [own.has(hostAndPort(url)), 'must not lead to this service'],
      [isRefusedAddress, 'must lead to a public address'],
    ]
    return faults.find(([isFault]) => isFault)?.[1] ?? null
  }
}

/** Decodes a URL for people. Invalid escapes stay unchanged. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** Returns host and port in normalized form. */
const hostAndPort = (url: URL): string => `${parseHost(url)} ${parsePort(url)}`

/** Returns the host of a URL: an address without brackets, or a name without a trailing dot. */
export const parseHost = ({ hostname }: URL): string => hostname.replace(/^\[|\]$|\.$/g, '')

export const parsePort = ({ port, protocol }: URL): number =>
  port === '' ? (protocol === 'https:' ? 443 : 80) : Number(port)

/** Names of this machine (RFC 6761, section 6.3). */
export const isLocalhost = (name: string): boolean => /(^|\.)localhost\.?$/i.test(name)
