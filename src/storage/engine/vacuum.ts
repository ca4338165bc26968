import { type Connection, type Database, firstRow } from './database.ts'
import { loadStatements } from './statements.ts'

/** Dead or changed rows from which on a table is tidied, beside a share of its rows. */
const rowsLeast = 2_000

interface UntidyTable {
  /** As SQL names it. */
  readonly tableName: string
  readonly hasDeadRows: boolean
}

const declare = loadStatements(import.meta.url)

const selectUntidy = declare<{ rowsLeast: number }, UntidyTable>('list_untidy_tables')

/**
 * Vacuums and analyzes each table of an embedded database that has many dead or changed rows: it
 * has no autovacuum. Each is a turn of its own, and others have theirs in between.
 * @returns the tables.
 */
export async function vacuumTables(
  database: Database,
  stop: AbortSignal,
): Promise<readonly string[]> {
  const done: string[] = []
  const untidy = await selectUntidy(database, { rowsLeast })
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

const measureLog = declare<object, { logBytes: number }>('measure_log_to_replay')

/**
 * Has an embedded database make a checkpoint once its log has grown by 128 MiB since the last one:
 * it has no checkpointer, so that its log would grow until the service stops, and a start after a
 * crash would replay all of it.
 * @returns whether it made one.
 */
export async function shortenLog(database: Database, mostBytes = logMostBytes): Promise<boolean> {
  const row = firstRow(await measureLog(database, {}))
  if ((row?.logBytes ?? 0) < mostBytes) return false
  await database.script('checkpoint')
  return true
}

const selectLastVacuum = declare<object, { lastVacuumAt: Date | null }>('find_last_vacuum')

/** When a table was last tidied, of those of an embedded database; null: none since it was made. */
export const findLastVacuum = async (connection: Connection): Promise<Date | null> =>
  firstRow(await selectLastVacuum(connection, {}))?.lastVacuumAt ?? null
