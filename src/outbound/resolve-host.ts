import { lookup, Resolver } from 'node:dns/promises'
import { isIP, type LookupFunction } from 'node:net'
import type { AddressPolicy } from './address-policy.ts'
import { isLocalhost } from './target-url.ts'

/** Finds the addresses of a name, in numeric form. @throws Error when it has none. */
export type ResolveHost = (name: string) => Promise<readonly string[]>

/**
 * Asks the name servers, and them alone. Node's usual look-up takes a thread each, of a few: names
 * whose servers never answer would delay all others.
 */
export function nameServers(): ResolveHost {
  const resolver = new Resolver({ timeout: 2_000, tries: 2 })
  return async (name) => {
    if (isLocalhost(name)) return ['127.0.0.1', '::1']
    const answers = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)])
    const addresses = answers.flatMap((answer) =>
      answer.status === 'fulfilled' ? answer.value : [],
    )
    if (addresses.length === 0) throw new Error('The name has no address.')
    return addresses
  }
}

/**
 * Asks as every program on this machine does: its file of hosts and its search list count. For
 * names that the operator gave, which are few.
 */
export const machineNames: ResolveHost = async (name) =>
  (await lookup(name, { all: true })).map(({ address }) => address)

const reasons = {
  address_refused:
    'it must be https, at an allowed port, public (OUTBOUND_ALLOW_CIDRS lists exceptions), and ' +
    'not this service',
  name_not_found: 'the name has no address',
} as const

/** Why no connection was made. */
export class TargetRefused extends Error {
  readonly outcome: keyof typeof reasons

  constructor(outcome: keyof typeof reasons) {
    super(reasons[outcome])
    this.name = 'TargetRefused'
    this.outcome = outcome
  }
}

/**
 * Resolves a name for one connection: once, checked, and connecting to the checked addresses only.
 * One refused address refuses the whole name, since no honest host has such an address beside
 * others.
 */
export const guardedLookup =
  (resolve: ResolveHost, judgeAddress: AddressPolicy, port: number): LookupFunction =>
  async (name, { all }, callback) => {
    const addresses = await resolve(name).catch(() => [])
    const isRefused = addresses.some((address) => judgeAddress(address, port) === 'refused')
    if (addresses.length === 0) callback(new TargetRefused('name_not_found'), [])
    else if (isRefused) callback(new TargetRefused('address_refused'), [])
    else if (all) {
      callback(
        null,
        addresses.map((address) => ({ address, family: isIP(address) })),
      )
    } else {
      const [first = ''] = addresses
      callback(null, first, isIP(first))
    }
  }
