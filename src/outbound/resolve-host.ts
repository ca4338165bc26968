import { lookup, Resolver } from 'node:dns/promises'
import { isIP, type LookupFunction } from 'node:net'
import type { AddressPolicy } from './address-policy.ts'
import { isLocalhost } from './target-url.ts'

/** Finds the addresses of a name, in numeric form. @throws Error when it has none. */
export type ResolveHost = (name: string) => Promise<readonly string[]>

/**
 * Resolves names with the name servers only. Node's usual lookup occupies one of a few threads, so
 * names whose servers never answer would delay all others.
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
 * Resolves names as other programs on this machine do, with its hosts file and search list. For the
 * operator's names, which are few.
 */
export const machineNames: ResolveHost = async (name) =>
  (await lookup(name, { all: true })).map(({ address }) => address)

const reasons = {
  address_refused:
    'it must be https, at an allowed port, public (OUTBOUND_ALLOW_CIDRS lists exceptions), and ' +
    'not this service',
  name_not_found: 'the name has no address',
} as const

/** The reason why no connection was made. */
export class TargetRefused extends Error {
  readonly outcome: keyof typeof reasons

  constructor(outcome: keyof typeof reasons) {
    super(reasons[outcome])
    this.name = 'TargetRefused'
    this.outcome = outcome
  }
}

/**
 * Resolves a name for one connection: once, with all addresses checked, and connects to these only.
 * One refused address refuses the whole name, since honest hosts do not mix them.
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
