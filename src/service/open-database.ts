import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Logger } from 'pino'
import type { Config } from '../config.ts'
import { StartRefusal } from '../errors.ts'
import { holdDataDirectory, makeDataDirectory } from '../storage/data-directory.ts'
import type { Database } from '../storage/database.ts'
import { findNewestMigration } from '../storage/examination.ts'
import { findInstallation } from '../storage/installation.ts'
import { migrate, requireSchema } from '../storage/migrate.ts'
import { makePgliteFolder, openPglite } from '../storage/pglite.ts'
import { openPostgres } from '../storage/postgres.ts'
import { refuseOtherKind } from './installation-kind.ts'

const migrations = new URL('../../migrations/', import.meta.url)

/**
 * Opens the database that the configuration names, for the program that serves it: brings it to this
 * program's schema, and makes an embedded one where there is none.
 * @throws Error when another process holds the data directory, or a newer program wrote the database.
 */
export async function openDatabase(config: Config, log: Logger): Promise<Database> {
  const { applied, database } = await openMigrated(config, log)
  if (applied.length > 0) log.info({ applied }, 'migrated')
  return database
}

/** The same. @returns the file names of what was applied, too. */
export async function openMigrated(
  config: Config,
  log: Logger,
): Promise<{ database: Database; applied: readonly string[] }> {
  await makeDataDirectory(config.dataDir)
  return withDatabase(config, log, async (database) => ({
    database,
    applied: await migrate(database, migrations),
  }))
}

/**
 * Opens the database as it is, for a command beside the program that serves it.
 * @throws `StartRefusal` also where there is none, or its schema is another than this program's.
 */
export async function openDatabaseAsIs(config: Config, log: Logger): Promise<Database> {
  if (!(await hasDatabase(config))) throw new StartRefusal(noDatabase(config))
  return withDatabase(config, log, async (database) => {
    await requireSchema(database, migrations)
    return database
  })
}

/**
 * Whether a service that is started for a moment could serve the database without changing its schema: it
 * is new, or at this program's. @throws `StartRefusal` otherwise.
 */
export async function requireNewOrCurrent(config: Config, log: Logger): Promise<void> {
  if (!(await hasDatabase(config))) return
  const database = await withDatabase(config, log, async (found) => {
    if ((await findNewestMigration(found)) !== null) await requireSchema(found, migrations)
    return found
  })
  await database.close()
}

/** Whether there is a database to open: one on a server is there, or else its opening says so. */
const hasDatabase = async (config: Config): Promise<boolean> =>
  config.databaseUrl !== null || (await stat(embeddedFolder(config)).catch(() => null)) !== null

const noDatabase = ({ dataDir }: Config): string =>
  `There is no database in ${dataDir} yet: pinfold start makes it, and so does pinfold migrate.`

/** Opens, and closes again where the work fails. */
async function withDatabase<Result>(
  config: Config,
  log: Logger,
  work: (database: Database) => Promise<Result>,
): Promise<Result> {
  const database = await (config.databaseUrl === null
    ? openEmbedded(config)
    : openServer(config, config.databaseUrl, log))
  try {
    // Before the schema is touched: another installation's database is left as it is.
    const installation = await findInstallation(database)
    if (installation) refuseOtherKind(config, installation.kind)
    return await work(database)
  } catch (error) {
    await database.close()
    throw error
  }
}

const embeddedFolder = ({ dataDir }: Config): string => join(dataDir, 'pgdata')

const openServer = (
  { databasePoolSize }: Config,
  connectionString: string,
  log: Logger,
): Database =>
  openPostgres({
    connectionString,
    poolSize: databasePoolSize,
    onIdleError: (err) => log.warn({ err }, 'a database connection broke'),
  })

/** PostgreSQL in this process: its files have one writer, so the folder is held first. */
async function openEmbedded(config: Config): Promise<Database> {
  const { dataDir, privateUrl } = config
  const startedAt = new Date().toISOString()
  const release = await holdDataDirectory(dataDir, { pid: process.pid, startedAt, privateUrl })
  const folder = embeddedFolder(config)
  await makePgliteFolder(folder)
  const database = await openPglite(folder)
  return {
    ...database,
    async close() {
      await database.close()
      release()
    },
  }
}
