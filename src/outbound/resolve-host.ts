import { lookup, Resolver } from 'node:dns/promises'
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
