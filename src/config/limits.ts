export interface Limits {
  readonly calls: CallRate
  readonly tokenCalls: CallRate
  /** Calls of one client in work at once, in this process. */
  readonly callsInFlight: number
  readonly revealsPerCardHour: number
  readonly revealsPerClientHour: number
  readonly badKeysPerCardHour: number
  readonly badKeysPerClientHour: number
  readonly unblocksPerCardDay: number
}

/** Calls a second, after a first burst. */
export interface CallRate {
  readonly perSecond: number
  readonly burst: number
}

interface VariableReader {
  integer(name: string, otherwise: number, least: number, most: number): number
  oneOf<Value extends string>(name: string, values: readonly Value[], otherwise: Value): Value
}

/** Reads the limits. Null: they are off. What is wrong goes to the reader's faults. */
export function readLimits(read: VariableReader): Limits | null {
  const limits = {
    calls: {
      perSecond: read.integer('RATE_PER_SECOND', 200, 1, 1_000_000),
      burst: read.integer('RATE_BURST', 400, 1, 1_000_000),
    },
    tokenCalls: {
      perSecond: read.integer('TOKEN_RATE_PER_SECOND', 10, 1, 1_000_000),
      burst: read.integer('TOKEN_RATE_BURST', 10, 1, 1_000_000),
    },
    callsInFlight: read.integer('CALLS_IN_FLIGHT', 32, 1, 10_000),
    revealsPerCardHour: read.integer('REVEALS_PER_CARD_HOUR', 10, 1, 1_000_000),
    revealsPerClientHour: read.integer('REVEALS_PER_CLIENT_HOUR', 1_000, 1, 100_000_000),
    badKeysPerCardHour: read.integer('BAD_SESSION_KEYS_PER_CARD_HOUR', 100, 1, 1_000_000),
    badKeysPerClientHour: read.integer('BAD_SESSION_KEYS_PER_CLIENT_HOUR', 1_000, 1, 1_000_000),
    unblocksPerCardDay: read.integer('UNBLOCKS_PER_CARD_DAY', 10, 1, 1_000_000),
  }
  return read.oneOf('RATE_LIMIT', ['on', 'off'], 'on') === 'on' ? limits : null
}
