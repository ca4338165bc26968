import { Problem, StartRefusal } from '../../domain/problem.ts'
import { ConfigError, parseConfig, processEnvironment } from './config.ts'

/**
 * Describes a failure to start: one sentence when an operator can repair it, otherwise the whole
 * error.
 */
export function describeStartFailure(error: unknown): unknown {
  if (error instanceof ConfigError || error instanceof StartRefusal) return error.message
  if (error instanceof Problem) {
    const refused = describeDatabase(findSystemError(error.cause))
    if (refused !== null) return refused
    // A database outage: the driver knows the reason, and its message has no password.
    if (!(error.cause instanceof Error)) return error.message
    const remedy = error.message.startsWith('The database') ? ': check DATABASE_URL' : ''
    return `${error.message.replace(/\.$/, '')} (${error.cause.message})${remedy}.`
  }
  const refused = findSystemError(error)
  if (refused === null) return error
  return describeListening(refused) ?? describeDatabase(refused) ?? describeFile(refused) ?? error
}

/** A refusal of the operating system or a database, with its subject. */
interface SystemError {
  readonly code: string
  readonly message: string
  readonly address?: string
  readonly port?: number
  readonly path?: string
  readonly severity?: string
}

function findSystemError(error: unknown): SystemError | null {
  return error instanceof Error && 'code' in error && typeof error.code === 'string'
    ? (error as Error & SystemError)
    : null
}

const listening: Readonly<Record<string, (where: string) => string>> = {
  EADDRINUSE: (where) => `Another program uses ${where} (EADDRINUSE): set PORT or PRIVATE_PORT.`,
  EACCES: (where) =>
    `This user cannot listen on ${where} (EACCES): set PORT or PRIVATE_PORT to 1024 or above, ` +
    'and put a proxy in front.',
  EADDRNOTAVAIL: (where) =>
    `${where} is not an address of this machine (EADDRNOTAVAIL): set HOST or PRIVATE_HOST.`,
}

const describeListening = ({ address, code, port }: SystemError): string | null =>
  port === undefined ? null : (listening[code]?.(`${address}:${port}`) ?? null)

/**
 * Refusals of a database that an operator can repair, by SQLSTATE (PostgreSQL manual, appendix A).
 */
const databaseRefusals: Readonly<Record<string, (message: string) => string>> = {
  '42501': (message) =>
    `The user of DATABASE_URL lacks a privilege: ${message} (42501). As the owner of the ` +
    'database: grant create on schema public to that user. Or name the owner in ' +
    'MIGRATION_DATABASE_URL, and run pinfold migrate.',
  '3F000': () =>
    'The search_path of the database or its user names no existing schema (3F000). As the ' +
    'owner of the database: alter database … reset search_path, or create the schema.',
  '25006': () =>
    'The database of DATABASE_URL is read-only (25006). If it is a standby, name the primary; ' +
    'otherwise: alter database … set default_transaction_read_only = off.',
}

const describeDatabase = (refused: SystemError | null): string | null =>
  refused?.severity === undefined
    ? null
    : (databaseRefusals[refused.code]?.(refused.message) ?? null)

/** Codes of the operating system for files and folders, with the remedy. */
const filing: Readonly<Record<string, readonly [found: string, remedy: string]>> = {
  EACCES: ['cannot be used by this user', 'give it to the user that runs the service'],
  EPERM: ['cannot be used by this user', 'give it to the user that runs the service'],
  EROFS: ['is on a read-only disk', 'name a writable folder'],
  EEXIST: ['is a file', 'name a folder'],
  ENOTDIR: ['has a file in place of a folder', 'name a folder'],
  EISDIR: ['is a folder', 'name a file'],
  ENOENT: ['does not exist', 'name an existing folder'],
  ENOSPC: ['is on a full disk', 'free some space, or name another folder'],
  EDQUOT: ['exceeds the quota of this user', 'free some space, or name another folder'],
}

function describeFile({ code, message, path }: SystemError): string | null {
  if (code === 'EMFILE' || code === 'ENFILE') {
    return (
      `The system allows no more open files (${code}): raise the limit (ulimit -n 65536, or ` +
      'LimitNOFILE in systemd).'
    )
  }
  const [found, remedy] = filing[code] ?? []
  if (found === undefined) return null
  const file = path ?? /'([^']+)'$/.exec(message)?.[1]
  if (file === undefined) return `A write failed (${code}), as the disk ${found}: ${remedy}.`
  const setting = findSetting(file)
  return `${setting === null ? '' : `${setting}: `}${file} ${found} (${code}): ${remedy}.`
}

/** Returns the variable that names a file or a folder above it. */
function findSetting(file: string): string | null {
  const { config } = parseConfig(processEnvironment())
  const settings: readonly (readonly [name: string, path: string | null])[] = [
    ['MASTER_KEY_FILE', config.masterKeyFile],
    ['ADMIN_JWK_FILE', config.adminJwkFile],
    ['LINK_PROFILES_DIR', config.linkProfilesDir],
    ['PKCS11_PIN_FILE', config.pkcs11?.pinFile ?? null],
    ['DATA_DIR', config.dataDir],
  ]
  const isIn = (path: string | null): boolean =>
    path !== null && (file === path || file.startsWith(`${path}/`) || path.startsWith(`${file}/`))
  return settings.find(([, path]) => isIn(path))?.[0] ?? null
}
