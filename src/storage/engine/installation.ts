import { Problem } from '../../domain/problem.ts'
import { type Connection, type Database, firstRow } from './database.ts'
import { loadStatements } from './statements.ts'

/** The facts that a database stores about its installation. */
export interface Installation {
  readonly kind: 'sandbox' | 'production'
  readonly masterKeyCheckValue: string
}

const declare = loadStatements(import.meta.url)

const insertInstallation = declare<Installation>('insert_installation')
const selectInstallation = declare<object, Installation>('find_installation')

const selectHasTable = declare<object, { isThere: boolean }>('has_installation_table')

/** Returns the stored facts, or null: the database may be new, even without tables. */
export async function findInstallation(connection: Connection): Promise<Installation | null> {
  const table = firstRow(await selectHasTable(connection, {}))
  return table?.isThere ? firstRow(await selectInstallation(connection, {})) : null
}

/**
 * Stores this installation in a new database.
 * @returns the stored facts: the first ones.
 */
export async function rememberInstallation(
  connection: Connection,
  installation: Installation,
): Promise<Installation> {
  await insertInstallation(connection, installation)
  const remembered = await findInstallation(connection)
  if (!remembered) throw new Error('The database did not keep its installation row.')
  return remembered
}

const selectCheckValue = declare<object, { checkValue: string }>('find_master_key_check_value')

/** Returns the check value of the installation's master key. */
export const findMasterKeyCheckValue = async (connection: Connection): Promise<string> =>
  checkValueIn(await selectCheckValue(connection, {}))

const lockCheckValue = declare<object, { checkValue: string }>('lock_installation')

/**
 * Locks the installation until the transaction ends, so that keys are stored, deleted or wrapped by
 * one process at a time.
 * @returns the check value of the master key.
 */
export const lockInstallation = async (connection: Connection): Promise<string> =>
  checkValueIn(await lockCheckValue(connection, {}))

function checkValueIn(rows: readonly { readonly checkValue: string }[]): string {
  const row = firstRow(rows)
  if (!row) throw new Error('The database has no installation row.')
  return row.checkValue
}

const updateCheckValue = declare<{ checkValue: string }>('set_master_key_check_value')

/** Sets another master key for the installation. */
export const setMasterKeyCheckValue = async (
  connection: Connection,
  checkValue: string,
): Promise<void> => {
  await updateCheckValue(connection, { checkValue })
}

const ping = declare<object, { takesChanges: boolean }>('ping')

/**
 * Resolves if the database answers, accepts changes and has room for them.
 * @throws `Problem` `unavailable` otherwise.
 */
export const pingDatabase = async (database: Database): Promise<void> => {
  const [answer] = await ping(database, {})
  if (!answer?.takesChanges) {
    throw new Problem('unavailable', { detail: 'The database is read-only.' })
  }
  await database.requireRoom()
}

/** Facts about a database server. */
export interface DatabaseFacts {
  /** `180001` for 18.1. */
  readonly versionNumber: number
  /** The encoding of texts: `UTF8`. */
  readonly encoding: string
  readonly clock: Date
  readonly fsync: string
  readonly fullPageWrites: string
  readonly synchronousCommit: string
  /** The standbys that a commit waits for; empty if it waits for none. */
  readonly synchronousStandbys: string
  readonly isStandby: boolean
  /** Whether transactions are read-only by default: on a standby, and by a setting. */
  readonly isReadOnly: boolean
  /** `origin`, unless foreign keys and triggers are off. */
  readonly replicationRole: string
  /** The first existing schema of `search_path`; null if none exists. */
  readonly schemaName: string | null
  /** Whether this user may create tables, as a migration does. */
  readonly mayCreate: boolean
  /** The file name of the first applied migration; null before it. */
  readonly firstFileName: string | null
  /** The newest applied migration; null before the first. */
  readonly newestMigration: number | null
  /** The newest migration that a program must know to work with the schema. */
  readonly worksFrom: number
}

type Applied = Pick<DatabaseFacts, 'firstFileName' | 'newestMigration' | 'worksFrom'>

const selectFacts = declare<object, Omit<DatabaseFacts, keyof Applied>>('examine_database')
const selectHasMigrations = declare<object, { isThere: boolean }>('has_migration_table')
const selectNewestMigration = declare<object, Applied>('find_newest_migration')

/** Examines a database without changing it. */
export async function examineDatabase(connection: Connection): Promise<DatabaseFacts> {
  const row = firstRow(await selectFacts(connection, {}))
  if (!row) throw new Error('The database returned no facts about itself.')
  return { ...row, ...(await findApplied(connection)) }
}

async function findApplied(connection: Connection): Promise<Applied> {
  const [table] = await selectHasMigrations(connection, {})
  const rows = table?.isThere ? await selectNewestMigration(connection, {}) : []
  const { firstFileName = null, newestMigration = null, worksFrom } = firstRow(rows) ?? {}
  return { firstFileName, newestMigration, worksFrom: worksFrom ?? 0 }
}

/** Returns the newest applied migration; null before the first. */
export const findNewestMigration = async (connection: Connection): Promise<number | null> =>
  (await findApplied(connection)).newestMigration

const selectClockAhead = declare<object, { aheadMs: number }>('find_clock_ahead')

/** Returns how far the clock of this sandbox was moved ahead, in milliseconds. */
export const findClockAhead = async (connection: Connection): Promise<number> =>
  firstRow(await selectClockAhead(connection, {}))?.aheadMs ?? 0

const updateClockAhead = declare<{ aheadMs: number }>('set_clock_ahead')

/** Stores how far the clock of this sandbox was moved ahead, for the next start. */
export const storeClockAhead = async (connection: Connection, aheadMs: number): Promise<void> => {
  await updateClockAhead(connection, { aheadMs })
}

const insertSecret = declare<{ secretName: string; sealed: Uint8Array }>('insert_sandbox_secret')
const selectSecret = declare<{ secretName: string }, { sealed: Uint8Array }>('find_sandbox_secret')

/** Returns a sealed secret of the sandbox, or null. */
export const findSandboxSecret = async (
  connection: Connection,
  secretName: string,
): Promise<Uint8Array | null> =>
  firstRow(await selectSecret(connection, { secretName }))?.sealed ?? null

/** Stores a sealed secret, unless another process was first. */
export const insertSandboxSecret = async (
  connection: Connection,
  secretName: string,
  sealed: Uint8Array,
): Promise<void> => {
  await insertSecret(connection, { secretName, sealed })
}
