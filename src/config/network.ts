import { isCidr } from '../domain/cidr.ts'
import { holdsStrangers } from './exposure.ts'

/** Who may connect, and who speaks for others. */
export interface NetworkConfig {
  /** Blocks of addresses whose `X-Forwarded-For` is believed. */
  readonly trustedProxies: readonly string[]
  /** Connections of a listener at once. */
  readonly connectionsMax: number
  /** Of one address; those of a trusted proxy are not counted. */
  readonly connectionsPerAddressMax: number
}

interface VariableReader {
  readonly faults: string[]
  text(name: string): string | null
  integer(name: string, otherwise: number, least: number, most: number): number
}

/** Reads the variables of the network; what is wrong with them goes to the reader's faults. */
export const readNetwork = (read: VariableReader): NetworkConfig => ({
  trustedProxies: readTrustedProxies(read),
  connectionsMax: read.integer('CONNECTIONS_MAX', 3_000, 1, 100_000),
  connectionsPerAddressMax: read.integer('CONNECTIONS_PER_ADDRESS_MAX', 1_200, 1, 100_000),
})

function readTrustedProxies(read: VariableReader): readonly string[] {
  const cidrs =
    read
      .text('TRUSTED_PROXIES')
      ?.split(',')
      .map((cidr) => cidr.trim()) ?? []
  if (cidrs.every((cidr) => isCidr(cidr) && !holdsStrangers(cidr))) return cidrs
  read.faults.push(
    'TRUSTED_PROXIES must be blocks of addresses with commas, such as 10.0.0.0/8,fd00::/8, and none wider: whoever is in them says where callers come from.',
  )
  return []
}
