import { resolve } from 'node:path'
import { type ApprovalConfig, readApprovals } from './approvals.ts'
import { type AuditConfig, readAudit } from './audit.ts'
import { type ConsoleConfig, readConsole } from './console.ts'
import { type DeliveryConfig, readDelivery } from './delivery.ts'
import { type EffectiveLimit, effectiveLimits } from './effective-limits.ts'
import { type Limits, type NetworkConfig, readLimits, readNetwork } from './limits.ts'
import { type AcceptedRisk, acceptedRisks } from './production.ts'
import { acceptances } from './refusals.ts'
import { readTls, type TlsConfig } from './tls.ts'
import * as variables from './variables.ts'
import { findWeakSettings, type WeakSetting } from './weak-settings.ts'

/** All faults of the environment. */
export class ConfigError extends Error {
  readonly faults: readonly string[]

  constructor(faults: readonly string[]) {
    super(`The configuration has faults:\n${faults.map((fault) => `  - ${fault}`).join('\n')}`)
    this.name = 'ConfigError'
    this.faults = faults
  }
}

/** The configuration of the program. Read once, from the environment alone. */
export interface Config {
  readonly sandbox: boolean
  readonly dataDir: string
  /** Null for PostgreSQL in this process, under `dataDir`. */
  readonly databaseUrl: string | null
  /**
   * The same database with the role that owns the schema; null if the role of `databaseUrl`
   * migrates.
   */
  readonly migrationDatabaseUrl: string | null
  /** Connections of each process. */
  readonly databasePoolSize: number
  /** The number of processes of one command; 1 with the embedded database. */
  readonly processes: number
  readonly publicListener: Listener
  readonly privateListener: Listener
  /** The public listener's URL for clients, without a trailing slash. */
  readonly baseUrl: string
  /** The private listener's URL for networks and operators. */
  readonly privateUrl: string
  readonly processorPath: string
  /** Null for the software HSM. */
  readonly pkcs11: variables.Pkcs11Config | null
  /** Null for a file created under `dataDir` at the first start, in the sandbox only. */
  readonly masterKeyFile: string | null
  readonly adminJwkFile: string | null
  /** An outside issuer for each listener, instead of the embedded one. */
  readonly outsideIssuer: variables.OutsideIssuer | null
  readonly privateOutsideIssuer: variables.OutsideIssuer | null
  readonly network: NetworkConfig
  /** Null if limits are off. */
  readonly limits: Limits | null
  /** The maximum wait before a call begins; after that it is refused. */
  readonly callWaitMs: number
  readonly delivery: DeliveryConfig
  readonly audit: AuditConfig
  readonly console: ConsoleConfig
  readonly approvals: ApprovalConfig
  readonly logLevel: LogLevel
  /** The interval at which TLS files are checked. */
  readonly tlsRefreshMs: number
  /**
   * The interval at which each process reads the keys; the other times of a rotation follow from
   * it.
   */
  readonly keyRefreshMs: number
  /** The maximum number of rows that one rotation re-encrypts in a second. */
  readonly reEncryptionRowsPerSecond: number
  /** The folder of additional link profiles. */
  readonly linkProfilesDir: string | null
  /** Whether links of card networks beyond this machine may work without TLS. */
  readonly allowsPlainLinks: boolean
  /** The port of the sandbox's own link; 0 without one. */
  readonly sandboxLinkPort: number
  /** Makes tokens, PANs and PINs of the sandbox repeatable. */
  readonly sandboxSeed: string | null
  /** The start of the sandbox's clock. */
  readonly sandboxClock: Date | null
  /** The effective limits with their sources. */
  readonly effectiveLimits: readonly EffectiveLimit[]
  /** Settings that weaken the defaults, for the audit log. */
  readonly weakened: readonly WeakSetting[]
  /** The risks that the configuration of production accepts. */
  readonly accepted: readonly AcceptedRisk[]
}

export interface Listener {
  readonly host: string
  readonly port: number
  /** Null for plain HTTP. */
  readonly tls: TlsConfig | null
}

const logLevels = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const
export type LogLevel = (typeof logLevels)[number]

/** The environment of this process, for callers that read a part of it again. */
export const processEnvironment = (): variables.Environment => process.env

/** @throws `ConfigError` with all faults. */
export function readConfig(environment: variables.Environment = process.env): Config {
  const { config, faults } = parseConfig(environment)
  if (faults.length > 0) throw new ConfigError(faults)
  return config
}

/** Reads the configuration and all of its faults; a faulty setting has its default. */
export function parseConfig(environment: variables.Environment): {
  readonly config: Config
  readonly faults: readonly string[]
} {
  const read = new variables.VariableReader(environment)
  const publicListener = { ...read.address('HOST', 'PORT', 8080), tls: readTls(read, 'public') }
  const privateListener = {
    ...read.address('PRIVATE_HOST', 'PRIVATE_PORT', 8081),
    tls: readTls(read, 'private'),
  }
  if (
    publicListener.port === privateListener.port &&
    publicListener.host === privateListener.host
  ) {
    read.faults.push('PORT and PRIVATE_PORT must differ.')
  }
  const databaseUrl = read.databaseUrl('DATABASE_URL')
  const sandboxSeed = read.text('SANDBOX_SEED')
  const dataDir = resolve(read.text('DATA_DIR') ?? '.data')
  const baseUrl = read.url('BASE_URL') ?? composeUrl(publicListener)
  const sandbox = read.sandbox()
  const config = {
    sandbox,
    dataDir,
    databaseUrl,
    migrationDatabaseUrl: read.migrationDatabaseUrl(databaseUrl),
    processes: read.processes({ databaseUrl, sandboxSeed }),
    databasePoolSize: read.integer('DATABASE_POOL_SIZE', 10, 1, 500),
    publicListener,
    privateListener,
    baseUrl,
    privateUrl: read.url('PRIVATE_BASE_URL') ?? composeUrl(privateListener),
    processorPath: read.segment('PROCESSOR_PATH', 'processor'),
    pkcs11: read.pkcs11(),
    masterKeyFile: read.text('MASTER_KEY_FILE'),
    adminJwkFile: read.text('ADMIN_JWK_FILE'),
    outsideIssuer: read.outsideIssuer('AUTH'),
    privateOutsideIssuer: read.outsideIssuer('PRIVATE_AUTH'),
    network: readNetwork(read),
    limits: readLimits(read),
    // The cardholder at the terminal has given up by then.
    callWaitMs: read.integer('CALL_WAIT_MS', 4_000, 1, 60_000),
    delivery: readDelivery(read),
    audit: readAudit(read, { baseUrl, dataDir }),
    console: readConsole(read),
    approvals: readApprovals(read, sandbox),
    tlsRefreshMs: read.integer('TLS_REFRESH_MS', 10_000, 100, 3_600_000),
    logLevel: read.parseChoice('LOG_LEVEL', logLevels, 'info'),
    keyRefreshMs: read.integer('KEY_REFRESH_MS', 1_000, 50, 10_000),
    linkProfilesDir: read.text('LINK_PROFILES_DIR'),
    allowsPlainLinks: sandbox || read.text('ACCEPT_PLAIN_LINKS') === 'yes',
    sandboxLinkPort: read.integer('LINK_PORT', 8583, 0, 65_535),
    reEncryptionRowsPerSecond: read.integer('REENCRYPTION_ROWS_PER_SECOND', 1_000, 1, 1_000_000),
    sandboxSeed,
    sandboxClock: read.instant('SANDBOX_CLOCK'),
  }
  refuseClearUrls(read, config)
  for (const name of acceptances) read.parseChoice(name, ['yes'], 'yes')
  const accepted = config.sandbox ? [] : acceptedRisks(config, read)
  const weakened = findWeakSettings(config, read)
  const held = effectiveLimits(config, read)
  return { config: { ...config, accepted, weakened, effectiveLimits: held }, faults: read.faults }
}

/** Refuses an `http:` URL of a listener with TLS. */
function refuseClearUrls(
  read: variables.VariableReader,
  config: Pick<Config, 'publicListener' | 'privateListener' | 'baseUrl' | 'privateUrl'>,
): void {
  const { baseUrl, privateListener, privateUrl, publicListener } = config
  if (publicListener.tls && !baseUrl.startsWith('https:')) {
    read.faults.push('BASE_URL must be https with TLS_CERT_FILE.')
  }
  if (privateListener.tls && !privateUrl.startsWith('https:')) {
    read.faults.push('PRIVATE_BASE_URL must be https with PRIVATE_TLS_CERT_FILE.')
  }
}

const composeUrl = ({ host, port, tls }: Listener): string =>
  `${tls ? 'https' : 'http'}://${host.includes(':') ? `[${host}]` : host}:${port}`

/** How the command line reaches a service, and its credentials, from its environment. */
export interface CallerConfig {
  /**
   * The public listener of a remote service; null for the listener of this machine's configuration.
   */
  readonly url: string | null
  readonly privateUrl: string | null
  readonly processorPath: string | null
  readonly clientId: string | null
  readonly clientSecret: string | null
  /** The file of the client's private key (JWK), for `private_key_jwt`. */
  readonly jwkFile: string | null
  /** The client certificate for listeners with mutual TLS, and its key. */
  readonly certificateFile: string | null
  readonly keyFile: string | null
  /** The folder's file that sets the service's address; null if the environment sets it. */
  readonly addressSource: string | null
  /** A person's access token; null for the token of the last sign-in on this machine. */
  readonly personToken: string | null
}

/** Reads the variables of the command line. An empty variable counts as not set. */
export function readCallerConfig(environment: variables.Environment = process.env): CallerConfig {
  const url = (name: string) => environment[name]?.replace(/\/+$/, '') || null
  return {
    url: url('PINFOLD_URL'),
    privateUrl: url('PINFOLD_PRIVATE_URL'),
    processorPath: environment.PROCESSOR_PATH || null,
    clientId: environment.PINFOLD_CLIENT_ID || null,
    clientSecret: environment.PINFOLD_CLIENT_SECRET || null,
    jwkFile: environment.PINFOLD_JWK_FILE || null,
    certificateFile: environment.PINFOLD_CERT_FILE || null,
    keyFile: environment.PINFOLD_KEY_FILE || null,
    addressSource: environment.PINFOLD_ADDRESS_SOURCE || null,
    personToken: environment.PINFOLD_PERSON_TOKEN || null,
  }
}
