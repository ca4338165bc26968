import { resolve } from 'node:path'
import { type CallerConfig, readCaller } from './config/caller.ts'
import { ConfigError } from './config/config-error.ts'
import { type DeliveryConfig, readDelivery } from './config/delivery.ts'
import { isLoopback } from './config/exposure.ts'
import { type Pkcs11Config, readPkcs11 } from './config/hsm.ts'
import { type Limits, readLimits } from './config/limits.ts'
import { type NetworkConfig, readNetwork } from './config/network.ts'
import type { OutsideIssuer } from './config/outside-issuer.ts'
import { type AcceptedRisk, acceptedRisks } from './config/production.ts'
import { acceptances } from './config/refusal.ts'
import { readTls, type TlsConfig } from './config/tls.ts'
import { isInstant, lastClockYear } from './domain/calendar.ts'

export type { OutsideIssuer }
export { ConfigError }

/** How the program runs. Read once, from the environment alone. */
export interface Config {
  readonly sandbox: boolean
  readonly dataDir: string
  /** Null: PostgreSQL in this process, under `dataDir`. */
  readonly databaseUrl: string | null
  readonly databasePoolSize: number
  readonly publicListener: Listener
  readonly privateListener: Listener
  /** Where clients reach the public listener, without a slash at its end. */
  readonly baseUrl: string
  /** Where networks and operators reach the private listener. */
  readonly privateUrl: string
  readonly processorPath: string
  /** Null: the software HSM. */
  readonly pkcs11: Pkcs11Config | null
  /** Null: made under `dataDir` at the first start, in the sandbox only. */
  readonly masterKeyFile: string | null
  readonly adminJwkFile: string | null
  /** An issuer in the embedded one's place, for each listener. */
  readonly outsideIssuer: OutsideIssuer | null
  readonly privateOutsideIssuer: OutsideIssuer | null
  readonly network: NetworkConfig
  /** Null: limits are off. */
  readonly limits: Limits | null
  /** How long a call waits until it is begun, before it is told that it was not. */
  readonly callWaitMs: number
  readonly delivery: DeliveryConfig
  readonly logLevel: LogLevel
  /** How often the files of TLS are looked at. */
  readonly tlsRefreshMs: number
  /** How often each process looks for new keys; the other times of a rotation follow from it. */
  readonly keyRefreshMs: number
  /** Makes tokens, PANs and PINs of the sandbox repeat from run to run. */
  readonly sandboxSeed: string | null
  /** Where the sandbox's clock begins. */
  readonly sandboxClock: Date | null
  /** What production runs with because somebody says that it is meant. */
  readonly accepted: readonly AcceptedRisk[]
}

export interface Listener {
  readonly host: string
  readonly port: number
  /** Null: plain HTTP. */
  readonly tls: TlsConfig | null
}

const logLevels = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const
export type LogLevel = (typeof logLevels)[number]

export type Environment = Readonly<Record<string, string | undefined>>

/** The environment of this process, for whoever reads a part of it anew. */
export const processEnvironment = (): Environment => process.env

/** How the command line reaches a service. */
export const readCallerConfig = (environment: Environment = process.env): CallerConfig =>
  readCaller(environment)

/** @throws `ConfigError` with everything that is wrong. */
export function readConfig(environment: Environment = process.env): Config {
  const { config, faults } = parseConfig(environment)
  if (faults.length > 0) throw new ConfigError(faults)
  return config
}

/** The configuration with everything that is wrong; what is wrong stands at its default. */
export function parseConfig(environment: Environment): {
  readonly config: Config
  readonly faults: readonly string[]
} {
  const read = new Reader(environment)
  const publicListener = {
    ...read.address('HOST', 'PORT', 8080),
    tls: readTls(read, 'public'),
  }
  const privateListener = {
    ...read.address('PRIVATE_HOST', 'PRIVATE_PORT', 8081),
    tls: readTls(read, 'private'),
  }
  const config = {
    sandbox: read.sandbox(),
    dataDir: resolve(read.text('DATA_DIR') ?? '.data'),
    databaseUrl: read.text('DATABASE_URL'),
    databasePoolSize: read.integer('DATABASE_POOL_SIZE', 10, 1, 500),
    publicListener,
    privateListener,
    baseUrl: read.url('BASE_URL') ?? urlOf(publicListener),
    privateUrl: read.url('PRIVATE_BASE_URL') ?? urlOf(privateListener),
    processorPath: read.segment('PROCESSOR_PATH', 'processor'),
    pkcs11: readPkcs11(read),
    masterKeyFile: read.text('MASTER_KEY_FILE'),
    adminJwkFile: read.text('ADMIN_JWK_FILE'),
    outsideIssuer: read.outsideIssuer('AUTH'),
    privateOutsideIssuer: read.outsideIssuer('PRIVATE_AUTH'),
    network: readNetwork(read),
    limits: readLimits(read),
    // Who asks at a till has gone by then.
    callWaitMs: read.integer('CALL_WAIT_MS', 4_000, 1, 60_000),
    delivery: readDelivery(read),
    tlsRefreshMs: read.integer('TLS_REFRESH_MS', 10_000, 100, 3_600_000),
    logLevel: read.oneOf('LOG_LEVEL', logLevels, 'info'),
    keyRefreshMs: read.integer('KEY_REFRESH_MS', 1_000, 50, 10_000),
    sandboxSeed: read.text('SANDBOX_SEED'),
    sandboxClock: read.instant('SANDBOX_CLOCK'),
  }
  read.refuseContradiction(config)
  for (const name of acceptances) read.oneOf(name, ['yes'], 'yes')
  const accepted = config.sandbox ? [] : acceptedRisks(config, read)
  return { config: { ...config, accepted }, faults: read.faults }
}

const urlOf = ({ host, port, tls }: Listener): string =>
  `${tls ? 'https' : 'http'}://${host.includes(':') ? `[${host}]` : host}:${port}`

/** Reads one variable at a time and keeps what is wrong with it. */
class Reader {
  readonly faults: string[] = []
  readonly #environment: Environment

  constructor(environment: Environment) {
    this.#environment = environment
  }

  /** A variable that is set to nothing counts as not set. */
  text(name: string): string | null {
    return this.#environment[name] || null
  }

  integer(name: string, otherwise: number, least: number, most: number): number {
    const text = this.text(name)
    if (text === null) return otherwise
    const number = Number(text)
    if (/^[0-9]+$/.test(text) && number >= least && number <= most) return number
    return this.#fault(`${name} must be a whole number from ${least} to ${most}.`, otherwise)
  }

  oneOf<Value extends string>(name: string, values: readonly Value[], otherwise: Value): Value {
    const text = this.text(name)
    if (text === null) return otherwise
    const value = values.find((each) => each === text)
    return value ?? this.#fault(`${name} must be one of ${values.join(', ')}.`, otherwise)
  }

  address(hostName: string, portName: string, port: number): Omit<Listener, 'tls'> {
    return {
      host: this.text(hostName) ?? '127.0.0.1',
      port: this.integer(portName, port, 1, 65_535),
    }
  }

  url(name: string): string | null {
    const text = this.text(name)
    if (text === null) return null
    const url = URL.canParse(text) ? new URL(text) : null
    const isPlain = url && /^https?:$/.test(url.protocol) && url.search === '' && url.hash === ''
    if (isPlain) return text.replace(/\/+$/, '')
    return this.#fault(`${name} must be an http or https URL without query or fragment.`, null)
  }

  instant(name: string): Date | null {
    const text = this.text(name)
    if (text === null) return null
    const instant = isInstant(text) ? new Date(text) : null
    if (instant && instant.getUTCFullYear() <= lastClockYear) return instant
    const rule = `an instant such as 2026-11-20T08:00:00Z, not after the year ${lastClockYear}`
    return this.#fault(`${name} must be ${rule}.`, null)
  }

  segment(name: string, otherwise: string): string {
    const text = this.text(name) ?? otherwise
    if (/^[a-z0-9][a-z0-9-]{0,63}$/i.test(text)) return text
    return this.#fault(`${name} must be one path segment of letters, digits and dashes.`, otherwise)
  }

  /** Whoever reaches beyond a laptop must say which of the two it is. */
  sandbox(): boolean {
    const value = this.text('SANDBOX')
    if (value === 'true' || value === 'false') return value === 'true'
    if (value !== null) this.faults.push('SANDBOX must be true or false.')
    const beyond = [
      ...['DATABASE_URL', 'AUTH_ISSUER', 'PRIVATE_AUTH_ISSUER'].filter((name) => this.text(name)),
      ...['HOST', 'PRIVATE_HOST'].filter((name) => !isLoopback(this.text(name) ?? '127.0.0.1')),
    ]
    if (value === null && beyond.length > 0) {
      this.faults.push(`SANDBOX must be said, true or false, because of ${beyond.join(' and ')}.`)
    }
    return true
  }

  outsideIssuer(prefix: 'AUTH' | 'PRIVATE_AUTH'): OutsideIssuer | null {
    const issuer = this.url(`${prefix}_ISSUER`)
    const audience = this.text(`${prefix}_AUDIENCE`)
    const clientClaim = this.text(`${prefix}_CLIENT_CLAIM`) ?? 'client_id'
    if (issuer === null) return null
    if (audience === null) this.faults.push(`${prefix}_AUDIENCE must go with ${prefix}_ISSUER.`)
    if (clientClaim === 'sub') this.faults.push(`${prefix}_CLIENT_CLAIM must not be sub.`)
    // The issuer is compared to the letter, with its slash if it has one.
    return {
      issuer: this.text(`${prefix}_ISSUER`) ?? issuer,
      audience: audience ?? '',
      clientClaim,
    }
  }

  /** An address that says plain HTTP of a listener that speaks TLS leads nowhere. */
  refuseContradiction({
    baseUrl,
    privateListener,
    privateUrl,
    publicListener,
  }: Omit<Config, 'accepted'>): void {
    if (publicListener.tls && !baseUrl.startsWith('https:')) {
      this.faults.push('BASE_URL must be https with TLS_CERT_FILE.')
    }
    if (privateListener.tls && !privateUrl.startsWith('https:')) {
      this.faults.push('PRIVATE_BASE_URL must be https with PRIVATE_TLS_CERT_FILE.')
    }
  }

  #fault<Value>(fault: string, otherwise: Value): Value {
    this.faults.push(fault)
    return otherwise
  }
}
