import { join } from 'node:path'
import type { Logger } from 'pino'
import type { Config } from '../config.ts'
import { holdDataDirectory, makeDataDirectory } from '../storage/data-directory.ts'
import { type Databases, type PoolName, undivided } from '../storage/database.ts'
import { findInstallation } from '../storage/installation.ts'
import { migrate } from '../storage/migrate.ts'
import { makePgliteFolder, openPglite } from '../storage/pglite.ts'
import { openPostgres } from '../storage/postgres.ts'
import { refuseOtherKind } from './installation-kind.ts'

const migrations = new URL('../../migrations/', import.meta.url)

/**
 * Opens the database that the configuration names, at this program's schema, with connections for each
 * who uses it.
 * @throws Error when another process holds the data directory, or a newer program wrote the database.
 */
export async function openDatabases(config: Config, log: Logger): Promise<Databases> {
  await makeDataDirectory(config.dataDir)
  const databases = await (config.databaseUrl === null
    ? openEmbedded(config)
    : openServer(config, config.databaseUrl, log))
  const { background: database } = databases
  try {
    // Before the schema is touched: another installation's database is left as it is.
    const installation = await findInstallation(database)
    if (installation) refuseOtherKind(config, installation.kind)
    const applied = await migrate(database, migrations)
    if (applied.length > 0) log.info({ applied }, 'migrated')
    return databases
  } catch (error) {
    await databases.close()
    throw error
  }
}

/** A pool of fewer connections than this is not worth dividing. */
const dividedFrom = 5
/** What a client asks for is given up by then: its caller has gone, and others wait for the connection. */
const clientStatementTimeoutMs = 5_000

/**
 * How many connections each pool has: half of them or more are for client systems, a third for card
 * networks, a fifth for what runs by itself, where one that is taken for long must leave another.
 * Null: too few to divide.
 */
export function poolSizesOf(total: number): Record<PoolName, number> | null {
  if (total < dividedFrom) return null
  const background = Math.max(2, Math.floor(total / 5))
  const networks = Math.max(1, Math.floor((total * 3) / 10))
  return { clients: total - networks - background, networks, background }
}

function openServer(
  { databasePoolSize }: Config,
  connectionString: string,
  log: Logger,
): Databases {
  const onIdleError = (err: Error) => log.warn({ err }, 'a database connection broke')
  const open = (poolSize: number, statementTimeoutMs?: number) =>
    openPostgres({
      connectionString,
      poolSize,
      onIdleError,
      ...(statementTimeoutMs !== undefined && { statementTimeoutMs }),
    })
  const sizes = poolSizesOf(databasePoolSize)
  if (sizes === null) return undivided(open(databasePoolSize))
  const clients = open(sizes.clients, clientStatementTimeoutMs)
  const networks = open(sizes.networks)
  const background = open(sizes.background)
  return {
    clients,
    networks,
    background,
    async close() {
      await Promise.all([clients.close(), networks.close(), background.close()])
    },
  }
}

/** PostgreSQL in this process: its files have one writer, so the folder is held first. */
async function openEmbedded({ dataDir, privateUrl }: Config): Promise<Databases> {
  const startedAt = new Date().toISOString()
  const release = await holdDataDirectory(dataDir, { pid: process.pid, startedAt, privateUrl })
  const folder = join(dataDir, 'pgdata')
  await makePgliteFolder(folder)
  const database = await openPglite(folder)
  return {
    ...undivided(database),
    async close() {
      await database.close()
      release()
    },
  }
}
