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

// Null in `works_from`: the migration leaves no program working that does not know it.
export const createMigrationTable = `create table if not exists migration (
  migration_number integer primary key,
  file_name text not null,
  works_from integer,
  applied_at timestamptz not null default now()
)`
// A migration may take its time, and so may the one of another process that is waited for.
const waitLong = 'set local lock_timeout = 0; set local statement_timeout = 0'
/** Behind the `;` that ends a line which is no comment. */
const endOfCommand = /(?<=^(?!\s*--).*;)$/m

interface Migration {
  readonly number: number
  readonly fileName: string
}

interface AppliedMigration extends Migration {
  /** The newest migration that a program must know to work on the schema that this one left. */
  readonly worksFrom: number
}

const declare = loadStatements(import.meta.url)

export const lockMigrations = declare<object>('lock_migrations')
const selectApplied = declare<object, AppliedMigration>('list_applied_migrations')
const insertMigration = declare<Migration & { worksFrom: number | null }>('record_migration')

/**
 * How a migration says that it takes nothing from a program that knows none newer than the one
 * named: it expands the schema, and that program goes on beside this one
 * (docs/decisions/0028-side-by-side.md).
 */
const expands = /^-- Works with programs from migration ([0-9]{4}) on\.$/m

/**
 * Brings the schema up to this program's version and installs its functions: forward only, all in
 * one transaction, and safe when several processes start on one database at once (the second waits,
 * then finds nothing to do).
 * @param service the role of the service, where it is another than the one that migrates.
 * @returns the file names applied now.
 * @throws `StartRefusal` when the database is too new for this program, or has the schema of before
 *   the first release.
 */
export async function migrate(
  database: Database,
  folder: URL,
  service: string | null = null,
): Promise<string[]> {
  const migrations = await readMigrations(folder)
  // `create table if not exists` itself can lose a race with another process: then the table is
  // there.
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
      // One by one, each up to the `;` that ends its line: a cluster sends to its nodes the text
      // that it was given.
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
 * Leaves the database as it is. @throws `StartRefusal` unless this program works on its schema,
 * with what to do.
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

/** What is wrong with a database whose migrations are not this program's, and what to do. */
export const otherSchema = {
  found:
    'A version from before the first release created this database, and this version cannot ' +
    'migrate it.',
  remedy:
    'Create a new database, or set another DATA_DIR, and start again; ' +
    'docs/guides/moving-over.md describes how to transfer data.',
} as const

/** @returns the number of the newest migration that was applied, 0 where none was. */
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
