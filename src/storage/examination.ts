import { type Connection, firstRow, statement } from './database.ts'

/** What a database server says of itself. */
export interface DatabaseFacts {
  /** `180001` for 18.1. */
  readonly versionNumber: number
  readonly clock: Date
  readonly fsync: string
  readonly fullPageWrites: string
  readonly synchronousCommit: string
  readonly isStandby: boolean
  /** Whether this user may make tables, as a migration does. */
  readonly mayCreate: boolean
  /** The newest migration that was applied; null before the first. */
  readonly newestMigration: number | null
}

const factsStatement = statement(
  'examine_database',
  `select current_setting('server_version_num')::integer as "versionNumber",
     clock_timestamp() as "clock", current_setting('fsync') as "fsync",
     current_setting('full_page_writes') as "fullPageWrites",
     current_setting('synchronous_commit') as "synchronousCommit",
     pg_is_in_recovery() as "isStandby",
     coalesce(has_schema_privilege(current_user, current_schema(), 'CREATE'), false) as "mayCreate"`,
)
const isThereStatement = statement(
  'has_migration_table',
  `select to_regclass('migration') is not null as "isThere"`,
)
const newestStatement = statement(
  'find_newest_migration',
  'select max(migration_number) as "newest" from migration',
)

/** Looks at a database, and changes nothing. */
export async function examineDatabase(connection: Connection): Promise<DatabaseFacts> {
  type Row = Omit<DatabaseFacts, 'newestMigration'>
  const row = firstRow(await connection.query<Row>(factsStatement))
  if (!row) throw new Error('The database says nothing of itself.')
  return { ...row, newestMigration: await findNewestMigration(connection) }
}

/** The newest migration that was applied; null before the first. */
export async function findNewestMigration(connection: Connection): Promise<number | null> {
  const [table] = await connection.query<{ isThere: boolean }>(isThereStatement)
  if (!table?.isThere) return null
  const rows = await connection.query<{ newest: number | null }>(newestStatement)
  return firstRow(rows)?.newest ?? null
}
