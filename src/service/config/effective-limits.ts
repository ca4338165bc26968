import type { DeliveryConfig } from './delivery.ts'
import type { Limits, NetworkConfig } from './limits.ts'
import type { VariableReader } from './variables.ts'

/** An effective limit and its source. */
export interface EffectiveLimit {
  readonly name: string
  /** Null without a limit, because limits are off. */
  readonly value: number | null
  readonly unit: string
  readonly origin: 'default' | 'variable'
  /** The variable that sets or changes it. */
  readonly variable: string
}

interface Known {
  readonly limits: Limits | null
  readonly delivery: DeliveryConfig
  readonly network: NetworkConfig
  readonly callWaitMs: number
  readonly databasePoolSize: number
  readonly keyRefreshMs: number
  readonly processes: number
  readonly reEncryptionRowsPerSecond: number
}

interface Row {
  readonly name: string
  readonly unit: string
  /** The first variable that is set takes effect; the first in the list changes the limit. */
  readonly variables: readonly [string, ...string[]]
  readonly selectAmount: (config: Known) => number | undefined
}

/** A rate is two limits: calls per second and the burst. */
const rate = (
  name: string,
  variables: readonly [string, ...string[]],
  selectRate: (config: Known) => { readonly perSecond: number; readonly burst: number } | undefined,
): readonly Row[] => {
  const [first, ...others] = variables
  return [
    {
      name: `${name}-per-second`,
      unit: 'calls a second',
      variables: [`${first}_PER_SECOND`, ...others.map((each) => `${each}_PER_SECOND`)],
      selectAmount: (config) => selectRate(config)?.perSecond,
    },
    {
      name: `${name}-burst`,
      unit: 'simultaneous calls',
      variables: [`${first}_BURST`, ...others.map((each) => `${each}_BURST`)],
      selectAmount: (config) => selectRate(config)?.burst,
    },
  ]
}

/** The limits that `RATE_LIMIT=off` turns off. */
const switched: readonly Row[] = [
  ...rate('calls', ['RATE'], ({ limits }) => limits?.calls),
  ...rate('token-calls', ['TOKEN_RATE'], ({ limits }) => limits?.tokenCalls),
  ...rate('token-failures', ['TOKEN_FAILURE_RATE', 'TOKEN_RATE'], (config) => {
    return config.limits?.tokenFailures
  }),
  ...rate('open-calls', ['OPEN_RATE'], ({ limits }) => limits?.openCalls),
  {
    name: 'calls-in-flight',
    unit: 'simultaneous calls of a client, in each process',
    variables: ['CALLS_IN_FLIGHT'],
    selectAmount: ({ limits }) => limits?.callsInFlight,
  },
  {
    name: 'reveals-per-card',
    unit: 'disclosures an hour',
    variables: ['REVEALS_PER_CARD_HOUR'],
    selectAmount: ({ limits }) => limits?.revealsPerCardHour,
  },
  {
    name: 'reveals-per-client',
    unit: 'disclosures an hour',
    variables: ['REVEALS_PER_CLIENT_HOUR'],
    selectAmount: ({ limits }) => limits?.revealsPerClientHour,
  },
  {
    name: 'bad-session-keys-per-card',
    unit: 'bad session keys an hour',
    variables: ['BAD_SESSION_KEYS_PER_CARD_HOUR'],
    selectAmount: ({ limits }) => limits?.badKeysPerCardHour,
  },
  {
    name: 'bad-session-keys-per-client',
    unit: 'bad session keys an hour',
    variables: ['BAD_SESSION_KEYS_PER_CLIENT_HOUR'],
    selectAmount: ({ limits }) => limits?.badKeysPerClientHour,
  },
  {
    name: 'unblocks-per-card',
    unit: 'unblocks a day, for each of PIN and CVV',
    variables: ['UNBLOCKS_PER_CARD_DAY'],
    selectAmount: ({ limits }) => limits?.unblocksPerCardDay,
  },
  {
    name: 'pan-searches-per-person',
    unit: 'searches by card number an hour',
    variables: ['PAN_SEARCHES_PER_PERSON_HOUR'],
    selectAmount: ({ limits }) => limits?.panSearchesPerPersonHour,
  },
]

const others: readonly Row[] = [
  {
    name: 'call-wait',
    unit: 'ms until a call that waits is refused',
    variables: ['CALL_WAIT_MS'],
    selectAmount: ({ callWaitMs }) => callWaitMs,
  },
  {
    name: 'delivery-timeout',
    unit: 'ms for a request to an endpoint',
    variables: ['DELIVERY_TIMEOUT_MS'],
    selectAmount: ({ delivery }) => delivery.timeoutMs,
  },
  {
    name: 'event-retention',
    unit: 'days',
    variables: ['EVENT_RETENTION_DAYS'],
    selectAmount: ({ delivery }) => delivery.retention.eventDays,
  },
  {
    name: 'attempt-retention',
    unit: 'days',
    variables: ['ATTEMPT_RETENTION_DAYS'],
    selectAmount: ({ delivery }) => delivery.retention.attemptDays,
  },
  {
    name: 'payment-retention',
    unit: 'days',
    variables: ['PAYMENT_RETENTION_DAYS'],
    selectAmount: ({ delivery }) => delivery.retention.paymentDays,
  },
  {
    name: 'connections',
    unit: 'connections of a listener, in each process',
    variables: ['CONNECTIONS_MAX'],
    selectAmount: ({ network }) => network.connectionsMax,
  },
  {
    name: 'connections-per-address',
    unit: 'connections of an address, in each process',
    variables: ['CONNECTIONS_PER_ADDRESS_MAX'],
    selectAmount: ({ network }) => network.connectionsPerAddressMax,
  },
  {
    name: 'database-connections',
    unit: 'connections of each process',
    variables: ['DATABASE_POOL_SIZE'],
    selectAmount: ({ databasePoolSize }) => databasePoolSize,
  },
  {
    name: 'processes',
    unit: 'processes',
    variables: ['PROCESSES'],
    selectAmount: ({ processes }) => processes,
  },
  {
    name: 're-encryption',
    unit: 'rows a second of a rotation',
    variables: ['REENCRYPTION_ROWS_PER_SECOND'],
    selectAmount: ({ reEncryptionRowsPerSecond }) => reEncryptionRowsPerSecond,
  },
  {
    name: 'key-refresh',
    unit: 'ms between two reads of the keys',
    variables: ['KEY_REFRESH_MS'],
    selectAmount: ({ keyRefreshMs }) => keyRefreshMs,
  },
]

/** Lists the effective limits of a configuration. */
export const effectiveLimits = (
  config: Known,
  read: Pick<VariableReader, 'text'>,
): readonly EffectiveLimit[] =>
  [...switched, ...others].map((row) => {
    const { name, unit, selectAmount, variables } = row
    const isOff = config.limits === null && switched.includes(row)
    const set = isOff ? 'RATE_LIMIT' : variables.find((variable) => read.text(variable) !== null)
    return {
      name,
      unit,
      value: selectAmount(config) ?? null,
      origin: set === undefined ? 'default' : 'variable',
      variable: set ?? variables[0],
    }
  })
