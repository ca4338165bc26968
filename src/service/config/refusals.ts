import type { ConsoleConfig } from './console.ts'
import { findDatabaseUrlFault, findSecretFileFault, isLoopback } from './exposure.ts'
import type { TlsConfig } from './tls.ts'
import type { OutsideIssuer, Pkcs11Config, VariableReader } from './variables.ts'

/** The parts of a configuration that the table reads. */
export interface Configured {
  readonly dataDir: string
  readonly databaseUrl: string | null
  readonly migrationDatabaseUrl: string | null
  readonly publicListener: { readonly host: string; readonly tls: TlsConfig | null }
  readonly privateListener: { readonly host: string; readonly tls: TlsConfig | null }
  readonly baseUrl: string
  readonly privateUrl: string
  readonly pkcs11: Pkcs11Config | null
  readonly masterKeyFile: string | null
  readonly adminJwkFile: string | null
  readonly outsideIssuer: OutsideIssuer | null
  readonly privateOutsideIssuer: OutsideIssuer | null
  readonly limits: object | null
  readonly audit: { readonly retentionDays: number; readonly erasureLeastDays: number }
  readonly console: ConsoleConfig
  readonly delivery: { readonly allowCidrs: readonly string[] | null }
  readonly sandboxSeed: string | null
  readonly sandboxClock: Date | null
}

/** The variables that accept a risk. Each is `yes` or absent. */
export const acceptances = [
  'ACCEPT_SOFTWARE_HSM',
  'ACCEPT_PLAIN_DATABASE',
  'ACCEPT_PLAIN_PUBLIC_LISTENER',
  'ACCEPT_PLAIN_PRIVATE_LISTENER',
  'ACCEPT_PLAIN_LINKS',
  'ACCEPT_OPEN_FILES',
  'ACCEPT_WIDE_OUTBOUND',
] as const
export type Acceptance = (typeof acceptances)[number]

/** A condition under which production does not start. */
export interface Refusal {
  readonly variable: string
  /** The fault, after the variable: `is not set`. */
  readonly refused: string
  /** The reason; absent if it is evident. */
  readonly why?: string
  readonly remedy: string
  /** Null if the risk cannot be accepted. */
  readonly acceptance: Acceptance | null
  /** The fault of this configuration, after the variable; null without one. */
  find(config: Configured, read: VariableReader): string | null
}

/** A database on another machine without TLS, or without verification of its certificate. */
export const clearDatabase = (
  variable: 'DATABASE_URL' | 'MIGRATION_DATABASE_URL',
  url: 'databaseUrl' | 'migrationDatabaseUrl',
): Refusal => ({
  variable,
  refused:
    'names another machine without TLS (no `sslmode`, `disable`), or without verification of ' +
    'its certificate (`no-verify`)',
  why:
    'An attacker on the network can read every answer of the database and change every ' +
    'statement.',
  remedy:
    'Add `?sslmode=verify-full`, and `&sslrootcert=FILE` for a certificate authority of your ' +
    'own. Loopback and Unix sockets need no TLS.',
  acceptance: 'ACCEPT_PLAIN_DATABASE',
  find: ({ [url]: address }, read) =>
    address === null
      ? null
      : findDatabaseUrlFault(address, {
          host: read.text('PGHOST'),
          sslMode: read.text('PGSSLMODE'),
        }),
})

/** A listener without TLS that other machines can reach. */
export const clearListener = (
  variable: 'HOST' | 'PRIVATE_HOST',
  acceptance: Acceptance,
  listener: 'publicListener' | 'privateListener',
): Refusal => ({
  variable,
  refused: 'is not loopback, and the listener speaks plain HTTP',
  why:
    'Tokens and PINs are in clear on the network, also between this service and a proxy that ' +
    'ends TLS.',
  remedy:
    `Set ${variable.replace('HOST', 'TLS_CERT_FILE')} and ` +
    `${variable.replace('HOST', 'TLS_KEY_FILE')}, or listen on loopback behind a proxy on this ` +
    'machine.',
  acceptance,
  find: ({ [listener]: { host, tls } }) =>
    tls === null && !isLoopback(host) ? `is ${host}, and the listener speaks plain HTTP` : null,
})

/** An issuer with an `http:` URL. */
export const clearIssuer = (
  variable: 'AUTH_ISSUER' | 'PRIVATE_AUTH_ISSUER' | 'CONSOLE_ISSUER',
  selectIssuer: (config: Configured) => string | undefined,
): Refusal => ({
  variable,
  refused: 'is an http URL',
  why: 'An attacker on the network can substitute keys and issue any token.',
  remedy: 'Use an https URL.',
  acceptance: null,
  find: (config) => (/^http:/i.test(selectIssuer(config) ?? '') ? 'is an http URL' : null),
})

/** A secret's file that others can read. */
export const secretFile = (
  variable: string,
  selectFile: (config: Configured) => string | null,
): Refusal => ({
  variable,
  refused: 'names a file that accounts other than its owner may read',
  why: 'Other accounts on this machine can read the secret.',
  remedy:
    'Run chmod 600 on it; root may own it with one reading group (0640). Replace secrets that ' +
    'others may have read.',
  acceptance: 'ACCEPT_OPEN_FILES',
  find: (config) => {
    const path = selectFile(config)
    const fault = path === null || path === '' ? null : findSecretFileFault(path)
    return fault && `names a file that others may read: ${fault}`
  },
})

/** The private key of a listener with TLS. */
export const findKeyFile = ({ tls }: Configured['publicListener']): string | null =>
  tls?.files.key.path ?? null

/** A setting that production requires. */
export const missing = (
  variable: string,
  isMissing: (config: Configured) => boolean,
  remedy: string,
) => ({
  variable,
  refused: 'is not set',
  remedy,
  acceptance: null,
  find: (config: Configured) => (isMissing(config) ? 'is not set' : null),
})

/** A setting that makes a sandbox predictable. */
export const ofSandbox = (variable: string, isSet: (config: Configured) => boolean): Refusal => ({
  variable,
  refused: 'is set',
  why: 'It is for the sandbox.',
  remedy: 'Remove it.',
  acceptance: null,
  find: (config) => (isSet(config) ? 'is set' : null),
})
