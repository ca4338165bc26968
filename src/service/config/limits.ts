import { isCidr } from '../../domain/identifiers.ts'
import { holdsStrangers } from './exposure.ts'
import type { VariableReader } from './variables.ts'

export interface Limits {
  readonly calls: CallRate
  /** Tokens of a client, and failures to prove who one is, of a client from one address. */
  readonly tokenCalls: CallRate
  /** Failures to prove who one is, from one address. */
  readonly tokenFailures: CallRate
  /** Calls of an address to what needs no token. */
  readonly openCalls: CallRate
  /** Calls of one client in work at once, in this process. */
  readonly callsInFlight: number
  readonly revealsPerCardHour: number
  readonly revealsPerClientHour: number
  readonly badKeysPerCardHour: number
  readonly badKeysPerClientHour: number
  readonly unblocksPerCardDay: number
  readonly panSearchesPerPersonHour: number
}

/** Calls a second, after a first burst. */
interface CallRate {
  readonly perSecond: number
  readonly burst: number
}

/** Reads the limits. Null: they are off. What is wrong goes to the reader's faults. */
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

/** Who may connect, and who speaks for others. */
export interface NetworkConfig {
  /** Blocks of addresses whose `X-Forwarded-For` is believed. */
  readonly trustedProxies: readonly string[]
  /** Connections of a listener at once. */
  readonly connectionsMax: number
  /** Of one address; those of a trusted proxy are not counted. */
  readonly connectionsPerAddressMax: number
  /** How long a connection is kept between two requests. */
  readonly keepAliveSeconds: number
  /** Names beside those of the URLs under which a sandbox is called, in small letters. */
  readonly hostNames: readonly string[]
}

/** Reads the variables of the network; what is wrong with them goes to the reader's faults. */
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
    // Longer than the 60 seconds of common load balancers: they would send a request on a
    // connection that is just being closed.
    keepAliveSeconds: read.integer('KEEP_ALIVE_SECONDS', 72, 1, 3_600),
    hostNames: readHostNames(read),
  }
}

/** A name or an address of IPv4, or one of IPv6 in brackets, with a port or without. */
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
