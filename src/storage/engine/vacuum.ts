import { type Connection, type Database, firstRow, statement } from './database.ts'

/** Dead or changed rows from which on a table is tidied, beside a share of its rows. */
const rowsLeast = 2_000

interface UntidyTable {
  /** As SQL names it. */
  readonly tableName: string
  readonly hasDeadRows: boolean
}

const untidyStatement = statement(
  'list_untidy_tables',
  `select format('%I', relname) as "tableName", n_dead_tup >= $1 + n_live_tup / 20 as "hasDeadRows"
   from pg_stat_user_tables
   where schemaname = current_schema()
     and (n_dead_tup >= $1 + n_live_tup / 20 or n_mod_since_analyze >= $1 + n_live_tup / 10)
   order by n_dead_tup desc`,
)

/**
 * Vacuums and analyzes each table of an embedded database that has many dead or changed rows: it has no autovacuum.
 * Each is a turn of its own, and others have theirs in between.
 * @returns the tables.
 */
export async function vacuumTables(
  database: Database,
  stop: AbortSignal,
): Promise<readonly string[]> {
  const done: string[] = []
  const untidy = await database.query<UntidyTable>(untidyStatement, [rowsLeast])
  for (const { hasDeadRows, tableName } of untidy) {
    if (stop.aborted) break
    if (hasDeadRows) await database.script(`vacuum ${tableName}`)
    if (!stop.aborted) await database.script(`analyze ${tableName}`)
    done.push(tableName)
  }
  return done
}

/** As much as is replayed within seconds by a start after a crash. */
const logMostBytes = 128 * 2 ** 20

const logStatement = statement(
  'measure_log_to_replay',
  `select pg_wal_lsn_diff(pg_current_wal_insert_lsn(), redo_lsn)::float8 as "logBytes"
   from pg_control_checkpoint()`,
)

/**
 * Has an embedded database make a checkpoint once its log has grown by 128 MiB since the last one: it has no checkpointer,
 * so that its log would grow until the service stops, and a start after a crash would replay all of it.
 * @returns whether it made one.
 */
export async function shortenLog(database: Database, mostBytes = logMostBytes): Promise<boolean> {
  const row = firstRow(await database.query<{ logBytes: number }>(logStatement))
  if ((row?.logBytes ?? 0) < mostBytes) return false
  await database.script('checkpoint')
  return true
}

const lastStatement = statement(
  'find_last_vacuum',
  `select max(greatest(last_vacuum, last_analyze)) as "lastVacuumAt" from pg_stat_user_tables
   where schemaname = current_schema()`,
)

/** When a table was last tidied, of those of an embedded database; null: none since it was made. */
export const findLastVacuum = async (connection: Connection): Promise<Date | null> =>
  firstRow(await connection.query<{ lastVacuumAt: Date | null }>(lastStatement))?.lastVacuumAt ??
  null
