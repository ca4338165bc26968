import { isCidr } from '../../domain/identifiers.ts'
import { holdsStrangers } from './exposure.ts'
import type { VariableReader } from './variables.ts'

export interface Limits {
  readonly calls: CallRate
  /** Tokens of a client, and failures to prove who one is, of a client from one address. */
  readonly tokenCalls: CallRate
  /** Failures to prove who one is, from one address. */
  readonly tokenFailures: CallRate
  /** Calls of one address to routes without a token. */
  readonly openCalls: CallRate
  /** Concurrent calls of one client in this process. */
  readonly callsInFlight: number
  readonly revealsPerCardHour: number
  readonly revealsPerClientHour: number
  readonly badKeysPerCardHour: number
  readonly badKeysPerClientHour: number
  readonly unblocksPerCardDay: number
  readonly panSearchesPerPersonHour: number
}

/** Calls per second, and the burst. */
interface CallRate {
  readonly perSecond: number
  readonly burst: number
}

/** Reads the limits and adds errors to the reader's faults. Null if limits are off. */
export function readLimits(read: VariableReader): Limits | null {
  const rate = (name: string, otherwise: CallRate): CallRate => ({
    perSecond: read.integer(`${name}_PER_SECOND`, otherwise.perSecond, 1, 1_000_000),
    burst: read.integer(`${name}_BURST`, otherwise.burst, 1, 1_000_000),
  })
  const tokenCalls = rate('TOKEN_RATE', { perSecond: 10, burst: 10 })
  const limits = {
    calls: rate('RATE', { perSecond: 200, burst: 400 }),
    callsInFlight: read.integer('CALLS_IN_FLIGHT', 16, 1, 10_000),
    tokenCalls,
    tokenFailures: rate('TOKEN_FAILURE_RATE', tokenCalls),
    openCalls: rate('OPEN_RATE', { perSecond: 50, burst: 200 }),
    revealsPerCardHour: read.integer('REVEALS_PER_CARD_HOUR', 10, 1, 1_000_000),
    revealsPerClientHour: read.integer('REVEALS_PER_CLIENT_HOUR', 1_000, 1, 100_000_000),
    badKeysPerCardHour: read.integer('BAD_SESSION_KEYS_PER_CARD_HOUR', 100, 1, 1_000_000),
    badKeysPerClientHour: read.integer('BAD_SESSION_KEYS_PER_CLIENT_HOUR', 1_000, 1, 1_000_000),
    unblocksPerCardDay: read.integer('UNBLOCKS_PER_CARD_DAY', 10, 1, 1_000_000),
    panSearchesPerPersonHour: read.integer('PAN_SEARCHES_PER_PERSON_HOUR', 20, 1, 1_000_000),
  }
  return read.parseChoice('RATE_LIMIT', ['on', 'off'], 'on') === 'on' ? limits : null
}

/** The settings of connections and proxies. */
export interface NetworkConfig {
  /** Address blocks of proxies whose `X-Forwarded-For` is trusted. */
  readonly trustedProxies: readonly string[]
  /** Concurrent connections of a listener. */
  readonly connectionsMax: number
  /** Concurrent connections of one address; a trusted proxy's are not counted. */
  readonly connectionsPerAddressMax: number
  /** The keep-alive time of an idle connection. */
  readonly keepAliveSeconds: number
  /** Further host names of a sandbox, in lower case. */
  readonly hostNames: readonly string[]
}

/** Reads the variables of the network and adds errors to the reader's faults. */
export function readNetwork(read: VariableReader): NetworkConfig {
  const cidrs = read.text('TRUSTED_PROXIES')?.split(',') ?? []
  const proxies = cidrs.map((cidr) => cidr.trim())
  const isSound = proxies.every((cidr) => isCidr(cidr) && !holdsStrangers(cidr))
  if (!isSound) {
    read.faults.push(
      'TRUSTED_PROXIES must be address blocks separated by commas, such as ' +
        '10.0.0.0/8,fd00::/8, none of them wider: the service trusts the caller addresses that ' +
        'they report.',
    )
  }
  return {
    trustedProxies: isSound ? proxies : [],
    connectionsMax: read.integer('CONNECTIONS_MAX', 3_000, 1, 100_000),
    connectionsPerAddressMax: read.integer('CONNECTIONS_PER_ADDRESS_MAX', 1_200, 1, 100_000),
    // Longer than the 60 seconds of common load balancers, which would otherwise send requests on
    // connections that are being closed.
    keepAliveSeconds: read.integer('KEEP_ALIVE_SECONDS', 72, 1, 3_600),
    hostNames: readHostNames(read),
  }
}

/** A host name, an IPv4 address or an IPv6 address in brackets, with or without a port. */
const hostName = /^(?:[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?|\[[0-9a-f:.]+\])(?::[0-9]{1,5})?$/

function readHostNames(read: VariableReader): readonly string[] {
  const texts = read.text('HOST_NAMES')?.split(',') ?? []
  const names = texts.map((text) => text.trim().toLowerCase())
  if (names.every((name) => hostName.test(name))) return names
  read.faults.push(
    'HOST_NAMES must be names separated by commas, such as pinfold.test,pinfold.internal:8080, ' +
      'without https:// and without a path.',
  )
  return []
}
