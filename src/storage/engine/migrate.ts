import { readdir, readFile } from 'node:fs/promises'
import { StartRefusal } from '../../domain/problem.ts'
import type { Connection, Database } from './database.ts'
import {
  createFunctionTable,
  distributeInstalled,
  installFunctions,
  listMissingFunctions,
} from './functions.ts'
import { findNewestMigration } from './installation.ts'
import { grantPrivileges } from './privileges.ts'
import { loadStatements } from './statements.ts'

// `works_from` is null if a program that does not know the migration cannot work with the schema.
export const createMigrationTable = `create table if not exists migration (
  migration_number integer primary key,
  file_name text not null,
  works_from integer,
  applied_at timestamptz not null default now()
)`
// A migration may take long, and so may the wait for another process's migration.
const waitLong = 'set local lock_timeout = 0; set local statement_timeout = 0'
/** The position after a `;` that ends a line, except in comments. */
const endOfCommand = /(?<=^(?!\s*--).*;)$/m

interface Migration {
  readonly number: number
  readonly fileName: string
}

interface AppliedMigration extends Migration {
  /** The newest migration that a program must know to work with the schema after this one. */
  readonly worksFrom: number
}

const declare = loadStatements(import.meta.url)

export const lockMigrations = declare<object>('lock_migrations')
const selectApplied = declare<object, AppliedMigration>('list_applied_migrations')
const insertMigration = declare<Migration & { worksFrom: number | null }>('record_migration')

/**
 * The line by which a migration declares that it only expands the schema: a program that knows
 * migrations up to the named one continues to work beside this program
 * (docs/decisions/0028-side-by-side.md).
 */
const expands = /^-- Works with programs from migration ([0-9]{4}) on\.$/m

/**
 * Brings the schema to this program's version and installs its functions: forward only, in one
 * transaction, and safe for concurrent starts on one database (the second waits, then finds nothing
 * to do).
 * @param service the role of the service, if another role migrates.
 * @returns the file names applied now.
 * @throws `StartRefusal` if the database is too new for this program, or has a schema from before
 *   the first release.
 */
export async function migrate(
  database: Database,
  folder: URL,
  service: string | null = null,
): Promise<string[]> {
  const migrations = await readMigrations(folder)
  // `create table if not exists` can fail if another process creates the table at the same time:
  // then it exists.
  const createTables = `${createMigrationTable}; ${createFunctionTable}`
  await database.script(createTables).catch(() => database.script(createTables))
  return database.transaction(async (connection) => {
    await connection.script(waitLong)
    await lockMigrations(connection, {})
    const newest = refuseOtherDatabase(await selectApplied(connection, {}), migrations)
    const due = migrations.filter((migration) => migration.number > newest)
    for (const { number, fileName } of due) {
      const text = await readFile(new URL(fileName, folder), 'utf8')
      const worksFrom = expands.exec(text)?.[1]
      await insertMigration(connection, {
        number,
        fileName,
        worksFrom: worksFrom ? Number(worksFrom) : null,
      })
      // One command at a time, each up to the `;` that ends its line: a cluster sends the text of a
      // command to its nodes.
      for (const command of text.split(endOfCommand)) await connection.script(command)
    }
    const known = migrations.at(-1)?.number ?? 0
    await installFunctions(connection, newest > known)
    if (database.isCluster()) await distributeInstalled(connection)
    if (service !== null) await grantPrivileges(connection, service)
    return due.map((migration) => migration.fileName)
  })
}

/**
 * Checks the schema without changing it.
 * @throws `StartRefusal` with instructions, unless this program works with the schema.
 */
export async function requireSchema(
  connection: Connection,
  folder: URL,
  remedy: string = waysOn,
): Promise<void> {
  const migrations = await readMigrations(folder)
  const known = migrations.at(-1)?.number ?? 0
  const isMade = (await findNewestMigration(connection)) !== null
  const applied = isMade ? await selectApplied(connection, {}) : []
  const newest = refuseOtherDatabase(applied, migrations)
  if (newest >= known) {
    const missing = await listMissingFunctions(connection)
    if (missing.length === 0) return
    throw new StartRefusal(`The database lacks the functions ${missing.join(', ')}. ${remedy}`)
  }
  const found = newest === 0 ? 'has no schema yet' : `is at migration ${newest}`
  throw new StartRefusal(`The database ${found}, but this program is at ${known}. ${remedy}`)
}

const waysOn =
  'Commands do not change the schema. Use the version of the running service, or migrate with ' +
  'this one (pinfold migrate or pinfold start); after that, an incompatible version cannot ' +
  'start.'

async function readMigrations(folder: URL): Promise<Migration[]> {
  const fileNames = (await readdir(folder)).filter((name) => name.endsWith('.sql')).sort()
  return fileNames.map((fileName) => ({ number: Number(fileName.slice(0, 4)), fileName }))
}

/** The faults of a database whose migrations differ from this program's, and what to do. */
export const otherSchema = {
  found:
    'A version from before the first release created this database, and this version cannot ' +
    'migrate it.',
  remedy:
    'Create a new database, or set another DATA_DIR, and start again; ' +
    'docs/guides/moving-over.md describes how to transfer data.',
} as const

/** @returns the number of the newest applied migration, 0 if none was applied. */
function refuseOtherDatabase(
  applied: readonly AppliedMigration[],
  migrations: readonly Migration[],
): number {
  const known = migrations.at(-1)?.number ?? 0
  const newest = applied.at(-1)?.number ?? 0
  const names = new Map(migrations.map(({ fileName, number }) => [number, fileName]))
  const isOther = applied.some(
    ({ fileName, number }) => (names.get(number) ?? fileName) !== fileName,
  )
  if (isOther) {
    throw new StartRefusal(`${otherSchema.found} It was not changed. ${otherSchema.remedy}`)
  }
  if (applied.some(({ worksFrom }) => worksFrom > known)) {
    throw new StartRefusal(
      `The database is at migration ${newest}, but this program knows only ${known}: start a ` +
        'newer program, or use the commands of the running version.',
    )
  }
  return newest
}
