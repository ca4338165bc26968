import { isIP } from 'node:net'
import { holdsPan, withoutUuids } from '../domain/pan.ts'
import type { AddressPolicy } from './address-policy.ts'

export interface TargetRules {
  /** Whether only https is called: everywhere but in the sandbox. */
  readonly httpsOnly: boolean
  /** Ports that are called; null for all of them. */
  readonly ports: readonly number[] | null
  /** What this service is reached by: never called. */
  readonly ownUrls: readonly string[]
  readonly judgeAddress: AddressPolicy
}

/** What is wrong with an address that a client wants called, as far as its text shows, or null. */
export type TargetCheck = (text: string) => string | null

/** Checks a URL by the rules. A name is not looked up here: what counts is when it is called. */
export const targetCheck = (rules: TargetRules): TargetCheck => {
  const { httpsOnly, ports, judgeAddress } = rules
  const own = new Set(rules.ownUrls.map((url) => hostAndPort(new URL(url))))
  return function faultOf(text) {
    if (!URL.canParse(text)) return 'must be an absolute URL'
    // The parser has made `0x7f.1`, `2130706433` and `0177.0.0.1` into `127.0.0.1`.
    const url = new URL(text)
    const port = parsePort(url)
    const host = isLocalhost(parseHost(url)) ? '127.0.0.1' : parseHost(url)
    const isRefusedAddress = isIP(host) !== 0 && judgeAddress(host, port) === 'refused'
    const faults: readonly (readonly [boolean, string])[] = [
      [!/^https?:$/.test(url.protocol), 'must be an https URL'],
      [httpsOnly && url.protocol !== 'https:', 'must be an https URL'],
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

/** As a person reads it. What is wrongly encoded stays as it is. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** Host and port in one spelling. */
const hostAndPort = (url: URL): string => `${parseHost(url)} ${parsePort(url)}`

/** The host of a URL: an address without brackets, or a name without the dot at its end. */
export const parseHost = ({ hostname }: URL): string => hostname.replace(/^\[|\]$|\.$/g, '')

export const parsePort = ({ port, protocol }: URL): number =>
  port === '' ? (protocol === 'https:' ? 443 : 80) : Number(port)

/** Names of this machine (RFC 6761, section 6.3). */
export const isLocalhost = (name: string): boolean => /(^|\.)localhost\.?$/i.test(name)
