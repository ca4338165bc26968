import { readdir, readFile } from 'node:fs/promises'
import { StartRefusal } from '../../domain/problem.ts'
import { type Connection, type Database, type Statement, statement } from './database.ts'
import { findNewestMigration } from './installation.ts'

const createTable = `create table if not exists migration (
  migration_number integer primary key,
  file_name text not null,
  applied_at timestamptz not null default now()
)`
// A migration may take its time, and so may the one of another process that is waited for.
const waitLong = 'set local lock_timeout = 0; set local statement_timeout = 0'
const lockTable: Statement = statement(
  'lock_migrations',
  'lock table migration in access exclusive mode',
)
const listApplied = statement(
  'list_applied_migrations',
  'select migration_number as "number", file_name as "fileName" from migration order by migration_number',
)
const recordMigration = statement(
  'record_migration',
  'insert into migration (migration_number, file_name) values ($1, $2)',
)

interface Migration {
  readonly number: number
  readonly fileName: string
}

/**
 * Brings the schema up to this program's version: forward only, all in one transaction, and safe when
 * several processes start on one database at once (the second waits, then finds nothing to do).
 * @returns the file names applied now.
 * @throws `StartRefusal` when the database is newer than this program, or from before its first release.
 */
export async function migrate(database: Database, folder: URL): Promise<string[]> {
  const migrations = await readMigrations(folder)
  // `create table if not exists` itself can lose a race with another process: then the table is there.
  await database.script(createTable).catch(() => database.script(createTable))
  return database.transaction(async (connection) => {
    await connection.script(waitLong)
    await connection.query(lockTable)
    const newest = refuseOtherDatabase(await connection.query<Migration>(listApplied), migrations)
    const due = migrations.filter((migration) => migration.number > newest)
    for (const { number, fileName } of due) {
      await connection.query(recordMigration, [number, fileName])
      await connection.script(await readFile(new URL(fileName, folder), 'utf8'))
    }
    return due.map((migration) => migration.fileName)
  })
}

/**
 * Leaves the database as it is. @throws `StartRefusal` unless its schema is this program's, with what to do.
 */
export async function requireSchema(connection: Connection, folder: URL): Promise<void> {
  const migrations = await readMigrations(folder)
  const known = migrations.at(-1)?.number ?? 0
  const isMade = (await findNewestMigration(connection)) !== null
  const applied = isMade ? await connection.query<Migration>(listApplied) : []
  const newest = refuseOtherDatabase(applied, migrations)
  if (newest === known) return
  const found = newest === 0 ? 'has no schema yet' : `is at migration ${newest}`
  throw new StartRefusal(`The database ${found}, this program is at ${known}. ${waysOn}`)
}

const waysOn =
  'Commands change no schema: use the version that runs, or bring it up with this one by pinfold migrate or pinfold start; an older version cannot start after that.'

async function readMigrations(folder: URL): Promise<Migration[]> {
  const fileNames = (await readdir(folder)).filter((name) => name.endsWith('.sql')).sort()
  return fileNames.map((fileName) => ({ number: Number(fileName.slice(0, 4)), fileName }))
}

/** @returns the number of the newest migration that was applied, 0 where none was. */
function refuseOtherDatabase(
  applied: readonly Migration[],
  migrations: readonly Migration[],
): number {
  const known = migrations.at(-1)?.number ?? 0
  const newest = applied.at(-1)?.number ?? 0
  const names = new Map(migrations.map(({ fileName, number }) => [number, fileName]))
  const isOther = applied.some(
    ({ fileName, number }) => (names.get(number) ?? fileName) !== fileName,
  )
  if (isOther) {
    throw new StartRefusal(
      'The database is of a version from before the first release, whose schema was another: there is no way on from it. Use an empty database, or another DATA_DIR, and create the cards again.',
    )
  }
  if (newest > known) {
    throw new StartRefusal(
      `The database is at migration ${newest}, this program knows ${known}: start a newer program, or use commands of the version that runs.`,
    )
  }
  return newest
}
