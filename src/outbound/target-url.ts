import { isIP } from 'node:net'
import { holdsPan } from '../domain/pan.ts'
import type { AddressPolicy } from './address-policy.ts'

export interface TargetRules {
  /** Whether only https is called: everywhere but in the sandbox. */
  readonly httpsOnly: boolean
  /** Ports that are called; null for all of them. */
  readonly ports: readonly number[] | null
  /** What this service is reached by: never called. */
  readonly ownUrls: readonly string[]
  readonly judge: AddressPolicy
}

/** What is wrong with an address that a client wants called, as far as its text tells, or null. */
export type TargetCheck = (text: string) => string | null

/** Holds a URL against the rules. A name is not looked up here: what counts is when it is called. */
export const targetCheck = (rules: TargetRules): TargetCheck => {
  const own = new Set(rules.ownUrls.map((url) => placeOf(new URL(url))))
  return function faultOf(text) {
    if (!URL.canParse(text)) return 'must be an absolute URL'
    const url = new URL(text)
    const faults: readonly (readonly [boolean, string])[] = [
      [!/^https?:$/.test(url.protocol), 'must be an https URL'],
      [rules.httpsOnly && url.protocol !== 'https:', 'must be an https URL'],
      [url.username !== '' || url.password !== '', 'must hold no user name and no password'],
      [url.hash !== '', 'must have no fragment'],
      [holdsPan(decoded(text)), 'must hold no card number'],
      [url.port === '0' || hostOf(url) === '', 'must name a host'],
      [isOtherPort(rules, url), `must be at one of the ports ${rules.ports?.join(', ')}`],
      [own.has(placeOf(url)), 'must not lead to this service'],
      [isRefusedAddress(rules, url), 'must lead to a public address'],
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

const isOtherPort = ({ ports }: TargetRules, url: URL): boolean =>
  ports !== null && !ports.includes(portOf(url))

/** Host and port in one spelling. */
const placeOf = (url: URL): string => `${hostOf(url)} ${portOf(url)}`

/** The host of a URL: an address without brackets, or a name without the dot at its end. */
export const hostOf = ({ hostname }: URL): string => hostname.replace(/^\[|\]$|\.$/g, '')

export const portOf = ({ port, protocol }: URL): number =>
  port === '' ? (protocol === 'https:' ? 443 : 80) : Number(port)

/** Names of this machine (RFC 6761, section 6.3). */
export const isLocalhost = (name: string): boolean => /(^|\.)localhost\.?$/i.test(name)

/** The parser of URLs has made `0x7f.1`, `2130706433` and `0177.0.0.1` into `127.0.0.1` by now. */
function isRefusedAddress({ judge }: TargetRules, url: URL): boolean {
  const host = isLocalhost(hostOf(url)) ? '127.0.0.1' : hostOf(url)
  return isIP(host) !== 0 && judge(host, portOf(url)) === 'refused'
}
