import { Problem } from '../../domain/problem.ts'
import { type Connection, type Database, firstRow, statement } from './database.ts'

/** What a database remembers of the installation it belongs to. */
export interface Installation {
  readonly kind: 'sandbox' | 'production'
  readonly masterKeyCheckValue: string
}

const rememberInstallationStatement = statement(
  'insert_installation',
  `insert into installation (kind, master_key_check_value) values ($1, $2)
   on conflict (singleton) do nothing`,
)
const installationStatement = statement(
  'find_installation',
  `select kind, master_key_check_value as "masterKeyCheckValue" from installation`,
)

const isThereStatement = statement(
  'has_installation_table',
  `select to_regclass('installation') is not null as "isThere"`,
)

/** What a database remembers, or null: it may be new, even to having no tables. */
export async function findInstallation(connection: Connection): Promise<Installation | null> {
  const table = firstRow<{ isThere: boolean }>(await connection.query(isThereStatement))
  return table?.isThere
    ? firstRow(await connection.query<Installation>(installationStatement))
    : null
}

/** Makes a new database remember this installation. @returns what it remembers: the first one. */
export async function rememberInstallation(
  connection: Connection,
  { kind, masterKeyCheckValue }: Installation,
): Promise<Installation> {
  await connection.query(rememberInstallationStatement, [kind, masterKeyCheckValue])
  const remembered = await findInstallation(connection)
  if (!remembered) throw new Error('The database did not keep its installation row.')
  return remembered
}

const findCheckValueStatement = statement(
  'find_master_key_check_value',
  'select master_key_check_value as "checkValue" from installation',
)

/** Check value of the master key that this installation is under. */
export const findMasterKeyCheckValue = async (connection: Connection): Promise<string> =>
  checkValueIn(await connection.query(findCheckValueStatement))

const lockStatement = statement(
  'lock_installation',
  'select master_key_check_value as "checkValue" from installation for update',
)

/**
 * Holds the installation until the transaction ends: who keeps, takes away or wraps keys does so one
 * at a time. @returns the check value of the master key.
 */
export const lockInstallation = async (connection: Connection): Promise<string> =>
  checkValueIn(await connection.query(lockStatement))

function checkValueIn(rows: readonly { readonly checkValue: string }[]): string {
  const row = firstRow(rows)
  if (!row) throw new Error('The database has no installation row.')
  return row.checkValue
}

const setCheckValueStatement = statement(
  'set_master_key_check_value',
  'update installation set master_key_check_value = $1',
)

/** Puts the installation under another master key. */
export const setMasterKeyCheckValue = async (
  connection: Connection,
  checkValue: string,
): Promise<void> => {
  await connection.query(setCheckValueStatement, [checkValue])
}

const pingStatement = statement(
  'ping',
  `select current_setting('transaction_read_only') = 'off' as "takesChanges"`,
)

/**
 * Resolves when the database answers, takes changes and has room for them.
 * @throws `Problem` `unavailable` otherwise.
 */
export const pingDatabase = async (database: Database): Promise<void> => {
  const [answer] = await database.query<{ takesChanges: boolean }>(pingStatement)
  if (!answer?.takesChanges) {
    throw new Problem('unavailable', { detail: 'The database takes no changes.' })
  }
  await database.requireRoom()
}

/** What a database server says of itself. */
export interface DatabaseFacts {
  /** `180001` for 18.1. */
  readonly versionNumber: number
  /** Of the database's texts: `UTF8`. */
  readonly encoding: string
  readonly clock: Date
  readonly fsync: string
  readonly fullPageWrites: string
  readonly synchronousCommit: string
  /** Of those that a commit waits for; empty where it waits for none. */
  readonly synchronousStandbys: string
  readonly isStandby: boolean
  /** Whether a transaction may change nothing unless it says so itself: on a standby, and by a setting. */
  readonly isReadOnly: boolean
  /** `origin`, unless foreign keys and triggers are off. */
  readonly replicationRole: string
  /** The first schema of `search_path` that is there; null where none is. */
  readonly schemaName: string | null
  /** Whether this user may make tables, as a migration does. */
  readonly mayCreate: boolean
  /** The newest migration that was applied; null before the first. */
  readonly newestMigration: number | null
  /** The newest one that a program must know to work on it. */
  readonly worksFrom: number
}

const factsStatement = statement(
  'examine_database',
  `select current_setting('server_version_num')::integer as "versionNumber",
     current_setting('server_encoding') as "encoding",
     clock_timestamp() as "clock", current_setting('fsync') as "fsync",
     current_setting('full_page_writes') as "fullPageWrites",
     current_setting('synchronous_commit') as "synchronousCommit",
     current_setting('synchronous_standby_names') as "synchronousStandbys",
     pg_is_in_recovery() as "isStandby",
     current_setting('transaction_read_only') = 'on' as "isReadOnly",
     current_setting('session_replication_role') as "replicationRole",
     current_schema() as "schemaName",
     coalesce(has_schema_privilege(current_user, current_schema(), 'CREATE'), false) as "mayCreate"`,
)
const isTableThereStatement = statement(
  'has_migration_table',
  `select to_regclass('migration') is not null as "isThere"`,
)

/**
 * The newest migration that a program must know to work on what a row of `migration` left. Databases from before the
 * first release have no such column, and are to be refused for what they are.
 */
export const worksFromText = `coalesce((to_jsonb(migration) ->> 'works_from')::integer, migration_number)`

const newestStatement = statement(
  'find_newest_migration',
  `select max(migration_number) as "newestMigration", max(${worksFromText}) as "worksFrom"
   from migration`,
)

type Applied = Pick<DatabaseFacts, 'newestMigration' | 'worksFrom'>

/** Looks at a database, and changes nothing. */
export async function examineDatabase(connection: Connection): Promise<DatabaseFacts> {
  const row = firstRow(await connection.query<Omit<DatabaseFacts, keyof Applied>>(factsStatement))
  if (!row) throw new Error('The database says nothing of itself.')
  return { ...row, ...(await findApplied(connection)) }
}

async function findApplied(connection: Connection): Promise<Applied> {
  const [table] = await connection.query<{ isThere: boolean }>(isTableThereStatement)
  const rows = table?.isThere ? await connection.query<Applied>(newestStatement) : []
  const { newestMigration = null, worksFrom } = firstRow(rows) ?? {}
  return { newestMigration, worksFrom: worksFrom ?? 0 }
}

/** The newest migration that was applied; null before the first. */
export const findNewestMigration = async (connection: Connection): Promise<number | null> =>
  (await findApplied(connection)).newestMigration

const insertSecretStatement = statement(
  'insert_sandbox_secret',
  `insert into sandbox_secret (secret_name, sealed) values ($1, $2)
   on conflict (secret_name) do nothing`,
)
const findSecretStatement = statement(
  'find_sandbox_secret',
  'select sealed from sandbox_secret where secret_name = $1',
)

/** A sealed secret of the sandbox, or null. */
export const findSandboxSecret = async (
  connection: Connection,
  secretName: string,
): Promise<Uint8Array | null> =>
  firstRow(await connection.query<{ sealed: Uint8Array }>(findSecretStatement, [secretName]))
    ?.sealed ?? null

/** Keeps a sealed secret, unless another process was first. */
export const insertSandboxSecret = async (
  connection: Connection,
  secretName: string,
  sealed: Uint8Array,
): Promise<void> => {
  await connection.query(insertSecretStatement, [secretName, sealed])
}
