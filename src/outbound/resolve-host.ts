import { lookup, Resolver } from 'node:dns/promises'
import { isIP, type LookupFunction } from 'node:net'
import type { AddressPolicy } from './address-policy.ts'
import { isLocalhost } from './target-url.ts'

/** Finds the addresses of a name, in numeric form. @throws Error when it has none. */
export type ResolveHost = (name: string) => Promise<readonly string[]>

/**
 * Asks the name servers, and them alone. Node's usual look-up takes a thread each, of a few: names
 * whose servers never answer would hold up all others.
 */
export function nameServers(): ResolveHost {
  const resolver = new Resolver({ timeout: 2_000, tries: 2 })
  return async (name) => {
    if (isLocalhost(name)) return ['127.0.0.1', '::1']
    const answers = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)])
    const addresses = answers.flatMap((answer) =>
      answer.status === 'fulfilled' ? answer.value : [],
    )
    if (addresses.length === 0) throw new Error('This name has no address.')
    return addresses
  }
}

/**
 * Asks as every program on this machine does: its file of hosts and its search list count. For names that
 * the operator gave, which are few.
 */
export const machineNames: ResolveHost = async (name) =>
  (await lookup(name, { all: true })).map(({ address }) => address)

const reasons = {
  address_refused:
    'it is not https, not at a port that may be called, of this service, or not public (OUTBOUND_ALLOW_CIDRS lists exceptions)',
  name_not_found: 'the name has no address',
}

/** Why no connection was made. */
export class TargetRefused extends Error {
  readonly outcome: 'address_refused' | 'name_not_found'

  constructor(outcome: 'address_refused' | 'name_not_found') {
    super(reasons[outcome])
    this.name = 'TargetRefused'
    this.outcome = outcome
  }
}

/**
 * Looks a name up for one connection: resolved once, judged, and the very addresses that were judged
 * are connected to. One that is refused refuses the name: nobody honest has such a neighbour.
 */
export const guardedLookup =
  (resolve: ResolveHost, judge: AddressPolicy, port: number): LookupFunction =>
  (name, { all }, callback) => {
    judgedAddresses(resolve, judge, name, port).then(
      (addresses) => {
        const found = addresses.map((address) => ({ address, family: isIP(address) }))
        const [first] = found
        if (all || !first) callback(null, found)
        else callback(null, first.address, first.family)
      },
      (error: Error) => callback(error, []),
    )
  }

async function judgedAddresses(
  resolve: ResolveHost,
  judge: AddressPolicy,
  name: string,
  port: number,
): Promise<readonly string[]> {
  const addresses = await resolve(name).catch(() => [])
  if (addresses.length === 0) throw new TargetRefused('name_not_found')
  const isRefused = addresses.some((address) => judge(address, port) === 'refused')
  if (isRefused) throw new TargetRefused('address_refused')
  return addresses
}
