import { join } from 'node:path'
import type { Logger } from 'pino'
import type { Config } from '../config.ts'
import { holdDataDirectory, makeDataDirectory } from '../storage/data-directory.ts'
import type { Database } from '../storage/database.ts'
import { findInstallation } from '../storage/installation.ts'
import { migrate } from '../storage/migrate.ts'
import { makePgliteFolder, openPglite } from '../storage/pglite.ts'
import { openPostgres } from '../storage/postgres.ts'
import { refuseOtherKind } from './installation-kind.ts'

const migrations = new URL('../../migrations/', import.meta.url)

/**
 * Opens the database that the configuration names, at this program's schema.
 * @throws Error when another process holds the data directory, or a newer program wrote the database.
 */
export async function openDatabase(config: Config, log: Logger): Promise<Database> {
  await makeDataDirectory(config.dataDir)
  const database = await (config.databaseUrl === null
    ? openEmbedded(config)
    : openServer(config, config.databaseUrl, log))
  try {
    // Before the schema is touched: another installation's database is left as it is.
    const installation = await findInstallation(database)
    if (installation) refuseOtherKind(config, installation.kind)
    const applied = await migrate(database, migrations)
    if (applied.length > 0) log.info({ applied }, 'migrated')
    return database
  } catch (error) {
    await database.close()
    throw error
  }
}

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
async function openEmbedded({ dataDir, privateUrl }: Config): Promise<Database> {
  const startedAt = new Date().toISOString()
  const release = await holdDataDirectory(dataDir, { pid: process.pid, startedAt, privateUrl })
  const folder = join(dataDir, 'pgdata')
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
