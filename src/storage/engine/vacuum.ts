import { type Connection, type Database, firstRow } from './database.ts'
import { loadStatements } from './statements.ts'

/**
 * The number of dead or changed rows, in addition to a share of all rows, after which a table is
 * vacuumed.
 */
const rowsLeast = 2_000

interface UntidyTable {
  /** The table's name in SQL. */
  readonly tableName: string
  readonly hasDeadRows: boolean
}

const declare = loadStatements(import.meta.url)

const selectUntidy = declare<{ rowsLeast: number }, UntidyTable>('list_untidy_tables')

/**
 * Vacuums and analyzes each table of an embedded database with many dead or changed rows, because
 * it has no autovacuum. Each table is a separate turn, so that others can run in between.
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

/** The amount that a start after a crash replays within seconds. */
const logMostBytes = 128 * 2 ** 20

const measureLog = declare<object, { logBytes: number }>('measure_log_to_replay')

/**
 * Runs a checkpoint of an embedded database after its log has grown by 128 MiB: it has no
 * checkpointer, so the log would grow until the service stops, and a start after a crash would
 * replay all of it.
 * @returns whether it ran.
 */
export async function shortenLog(database: Database, mostBytes = logMostBytes): Promise<boolean> {
  const row = firstRow(await measureLog(database, {}))
  if ((row?.logBytes ?? 0) < mostBytes) return false
  await database.script('checkpoint')
  return true
}

/** The last vacuum, and the table with the most dead rows. */
interface Upkeep {
  /** When a table was last vacuumed or analyzed; null if never. */
  readonly lastVacuumAt: Date | null
  readonly tableName: string
  readonly deadRows: number
  readonly liveRows: number
}

const selectUpkeep = declare<object, Upkeep>('find_upkeep')

/** Returns the upkeep of the tables; of a cluster, those of its coordinator. */
export const findUpkeep = async (connection: Connection): Promise<Upkeep | null> =>
  firstRow(await selectUpkeep(connection, {}))
