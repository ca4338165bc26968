import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Logger } from 'pino'
import { StartRefusal } from '../domain/problem.ts'
import { type Preparation, prepareCluster } from '../storage/engine/cluster.ts'
import { lockDataDirectory, makeDataDirectory } from '../storage/engine/data-directory.ts'
import {
  type Database,
  type Databases,
  type PoolName,
  undivided,
} from '../storage/engine/database.ts'
import {
  type DatabaseFacts,
  examineDatabase,
  findInstallation,
  findNewestMigration,
  type Installation,
} from '../storage/engine/installation.ts'
import { migrate, requireSchema } from '../storage/engine/migrate.ts'
import { makePgliteFolder, openPglite } from '../storage/engine/pglite.ts'
import { openPostgres, sharesBackends } from '../storage/engine/postgres.ts'
import { examineRole, type RoleFacts } from '../storage/engine/privileges.ts'
import { watchShortage } from '../storage/engine/room.ts'
import type { Config } from './config/config.ts'

const migrations = new URL('../../database/migrations/', import.meta.url)

/**
 * Opens the configured database for the service, with one pool for each use. Migrates it to this
 * program's schema and creates a missing embedded database.
 * @throws Error when another process has locked the data directory, or a newer program wrote the
 *   database.
 */
export async function openDatabases(config: Config, log: Logger): Promise<Databases> {
  const { applied, databases } = await openMigrated(config, log)
  if (applied.length > 0) log.info({ applied }, 'migrated')
  return databases
}

/** Opens and migrates the database. @returns also the file names of the applied migrations. */
export async function openMigrated(
  config: Config,
  log: Logger,
): Promise<{ databases: Databases; applied: readonly string[] }> {
  await makeDataDirectory(config.dataDir)
  return withDatabases(config, log, async (databases) => ({
    databases,
    applied: await migrateAsOwner(config, databases.background),
  }))
}

/**
 * Migrates the schema with the role that owns it: the role of `MIGRATION_DATABASE_URL` if set,
 * otherwise the service's own. A role that does not own the schema leaves it unchanged.
 */
async function migrateAsOwner(
  { migrationDatabaseUrl }: Config,
  database: Database,
): Promise<readonly string[]> {
  const service = await examineRole(database)
  if (migrationDatabaseUrl !== null) return migrateForService(migrationDatabaseUrl, service)
  const { actsAsOwner, owner } = service
  if (owner === null || actsAsOwner) return migrate(database, migrations)
  await requireSchema(
    database,
    migrations,
    `The tables belong to ${owner}: run pinfold migrate with MIGRATION_DATABASE_URL, which ` +
      'names that role.',
  )
  return []
}

async function migrateForService(
  connectionString: string,
  service: RoleFacts,
): Promise<readonly string[]> {
  const database = openPostgres({ connectionString, poolSize: 1, onIdleError: () => undefined })
  try {
    refuseOtherOwner(service, await examineRole(database), database.isCluster())
    return await migrate(database, migrations, service.role)
  } finally {
    await database.close()
  }
}

/**
 * @throws `StartRefusal` when the migrating role cannot own the schema beside the service's role.
 */
function refuseOtherOwner(service: RoleFacts, migrating: RoleFacts, isCluster: boolean): void {
  if (isCluster) {
    throw new StartRefusal(
      'A cluster supports one role only, because its nodes would run functions as another one. ' +
        'Remove MIGRATION_DATABASE_URL.',
    )
  }
  const isSame =
    service.databaseName === migrating.databaseName &&
    service.startedAt.getTime() === migrating.startedAt.getTime()
  if (!isSame) {
    throw new StartRefusal(
      'MIGRATION_DATABASE_URL leads to another database than DATABASE_URL, ' +
        `${migrating.databaseName}: set both to the same database.`,
    )
  }
  if (service.role === migrating.role) {
    throw new StartRefusal(
      `DATABASE_URL and MIGRATION_DATABASE_URL name the same role, ${service.role}: name ` +
        'another role for migrations, or remove MIGRATION_DATABASE_URL.',
    )
  }
  const { owner } = migrating
  if (owner === null || owner === migrating.role) return
  throw new StartRefusal(
    `The tables belong to ${owner}, but MIGRATION_DATABASE_URL names ${migrating.role}. As a ` +
      `superuser: reassign owned by ${owner} to ${migrating.role}.`,
  )
}

/**
 * Migrates the database to this program's schema and distributes it over the nodes of a cluster.
 */
export async function prepareDatabase(
  config: Config,
  log: Logger,
): Promise<Preparation & { readonly applied: readonly string[] }> {
  const { applied, databases } = await openMigrated(config, log)
  try {
    return { applied, ...(await prepareCluster(databases.background)) }
  } finally {
    await databases.close()
  }
}

/**
 * Opens the database without changes, for a command beside the running service.
 * @throws `StartRefusal` when it cannot be opened, does not exist or has another schema.
 */
export async function openDatabasesAsIs(config: Config, log: Logger): Promise<Databases> {
  if (!(await hasDatabase(config))) {
    throw new StartRefusal(
      `${config.dataDir} has no database yet. Run pinfold start or pinfold migrate to create it.`,
    )
  }
  return withDatabases(config, log, async (databases) => {
    await requireSchema(databases.background, migrations)
    return databases
  })
}

/**
 * Checks that a temporary service can use the database without a migration: it is new, or has this
 * program's schema. @throws `StartRefusal` otherwise.
 */
export async function requireNewOrCurrent(config: Config, log: Logger): Promise<void> {
  if (!(await hasDatabase(config))) return
  const databases = await withDatabases(config, log, async (found) => {
    const { background } = found
    const isNew = (await findNewestMigration(background)) === null
    if (!isNew) await requireSchema(background, migrations)
    return found
  })
  await databases.close()
}

/** Whether a database exists. One on a server counts as existing; otherwise opening it fails. */
const hasDatabase = async (config: Config): Promise<boolean> =>
  config.databaseUrl !== null || (await stat(embeddedFolder(config)).catch(() => null)) !== null

/** Opens the databases, and closes them if the work fails. */
async function withDatabases<Result>(
  config: Config,
  log: Logger,
  work: (databases: Databases) => Promise<Result>,
): Promise<Result> {
  const databases = await (config.databaseUrl === null
    ? openEmbedded(config)
    : openServer(config, config.databaseUrl, log))
  const { background: database } = databases
  try {
    await refuseUnsuitable(config, database)
    // Before any change to the schema, since another installation's database must stay unchanged.
    const installation = await findInstallation(database)
    if (installation) refuseOtherKind(config, installation.kind)
    return await work(databases)
  } catch (error) {
    await databases.close()
    throw error
  }
}

/**
 * Checks that the database can store all data, in dedicated sessions.
 * @throws `StartRefusal` with the remedy.
 */
async function refuseUnsuitable({ databaseUrl }: Config, database: Database): Promise<void> {
  if (databaseUrl === null) return
  // First, since statements cannot be prepared without a dedicated session.
  const pooling = await poolingFault(databaseUrl)
  const fault = pooling ?? findDatabaseFault(await examineDatabase(database))
  if (fault) throw new StartRefusal(`${fault.found} ${fault.remedy}`)
}

/** The fault of a database and its remedy. */
export interface DatabaseFault {
  readonly found: string
  readonly remedy: string
}

/**
 * Describes why a database cannot be served: an encoding that cannot store every name, or no
 * foreign keys.
 */
export function findDatabaseFault({
  encoding,
  replicationRole,
}: Pick<DatabaseFacts, 'encoding' | 'replicationRole'>): DatabaseFault | null {
  if (encoding !== 'UTF8') {
    return {
      found:
        `The database of DATABASE_URL has the encoding ${encoding}, which cannot hold every ` +
        'name.',
      remedy:
        "Create one with create database pinfold encoding 'UTF8' template template0, and " +
        'name it in DATABASE_URL.',
    }
  }
  if (replicationRole === 'origin') return null
  return {
    found:
      `The database of DATABASE_URL has session_replication_role = ${replicationRole}, which ` +
      'turns off foreign keys.',
    remedy:
      'As a superuser: alter database … reset session_replication_role, also for the user of ' +
      'DATABASE_URL.',
  }
}

/**
 * Describes the fault of an address that gives each transaction another session; null without one.
 */
export const poolingFault = async (databaseUrl: string): Promise<DatabaseFault | null> =>
  (await sharesBackends(databaseUrl))
    ? {
        found: 'DATABASE_URL leads to a connection pooler that assigns sessions by transaction.',
        remedy:
          'Set pool_mode = session in PgBouncer for this database, or connect to the server ' +
          'itself.',
      }
    : null

const embeddedFolder = ({ dataDir }: Config): string => join(dataDir, 'pgdata')

/** A smaller pool is not divided. */
const dividedFrom = 5
/**
 * The time limit of statements for clients: after it, the caller has gone and others wait for the
 * connection.
 */
const clientStatementTimeoutMs = 5_000

/**
 * Divides the connections into pools: at least half for client systems, a third for card networks,
 * a fifth for background jobs, so that one long job leaves a connection for others. Returns null
 * when there are too few to divide.
 */
export function computePoolSizes(total: number): Record<PoolName, number> | null {
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
  // A shortage of resources in one pool applies to all.
  const shortage = watchShortage()
  const open = (poolSize: number, statementTimeoutMs?: number) =>
    openPostgres(
      {
        connectionString,
        poolSize,
        onIdleError,
        ...(statementTimeoutMs !== undefined && { statementTimeoutMs }),
      },
      shortage,
    )
  const sizes = computePoolSizes(databasePoolSize)
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

/** Opens PostgreSQL in this process. Its files have one writer, so the folder is locked first. */
async function openEmbedded(config: Config): Promise<Databases> {
  const { dataDir, privateUrl } = config
  const startedAt = new Date().toISOString()
  const release = await lockDataDirectory(dataDir, { pid: process.pid, startedAt, privateUrl })
  const folder = embeddedFolder(config)
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

/** Returns the kind of this installation. */
export const selectInstallationKind = ({ sandbox }: Config): Installation['kind'] =>
  sandbox ? 'sandbox' : 'production'

/** @throws `StartRefusal` when a database belongs to an installation of another kind. */
export function refuseOtherKind(config: Config, remembered: Installation['kind']): void {
  const ours = selectInstallationKind(config)
  if (remembered === ours) return
  throw new StartRefusal(
    `The database belongs to a ${remembered}, but this program runs as ${ours}.`,
  )
}
