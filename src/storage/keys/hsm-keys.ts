import { type Connection, firstRow } from '../engine/database.ts'
import { loadStatements } from '../engine/statements.ts'

export type HsmKeyState = 'pending' | 'active' | 'retired'

/** One version of a key. Only an HSM with the master key can use it. */
export interface HsmKeyRow {
  readonly keyName: string
  readonly keyVersion: number
  readonly state: HsmKeyState
  readonly keyBlock: string
  readonly keyCheckValue: string
}

/** A version with the times of its states. */
export interface DatedHsmKeyRow extends HsmKeyRow {
  readonly createdAt: Date
  /** When it becomes active; null if it is not scheduled. */
  readonly activatesAt: Date | null
  readonly activatedAt: Date | null
  readonly retiredAt: Date | null
  /** The uses by all processes, including those recorded in advance. */
  readonly uses: number
}

/** Identifies one version of a key. */
interface HsmKeyVersion {
  readonly keyName: string
  readonly keyVersion: number
}

const declare = loadStatements(import.meta.url)

const selectKeys = declare<object, DatedHsmKeyRow>('list_hsm_keys')

/** Lists every key of the installation. */
export const listHsmKeys = (connection: Connection): Promise<DatedHsmKeyRow[]> =>
  selectKeys(connection, {})

const selectKey = declare<HsmKeyVersion, DatedHsmKeyRow>('find_hsm_key')

/** Returns one version of a key, or null. */
export const findHsmKey = async (
  connection: Connection,
  keyName: string,
  keyVersion: number,
): Promise<DatedHsmKeyRow | null> => firstRow(await selectKey(connection, { keyName, keyVersion }))

const insertKey = declare<HsmKeyRow, { keyName: string }>('insert_hsm_key')

/**
 * Stores a key, unless another process stored this version first.
 * @returns whether it was stored.
 */
export const insertHsmKey = async (connection: Connection, key: HsmKeyRow): Promise<boolean> =>
  (await insertKey(connection, key)).length === 1

const updateUses = declare<HsmKeyVersion & { uses: number }>('add_hsm_key_uses')

/** Adds to the uses of a version; a negative number returns some. */
export const addHsmKeyUses = async (
  connection: Connection,
  { keyName, keyVersion }: HsmKeyVersion,
  uses: number,
): Promise<void> => {
  await updateUses(connection, { keyName, keyVersion, uses })
}

const scheduleKey = declare<HsmKeyVersion & { pendingSeconds: number }>('schedule_hsm_key')

/**
 * Schedules the activation of a pending version for when it has been pending for a number of
 * seconds.
 * @returns false if it was already scheduled, or is not pending.
 */
export const scheduleHsmKey = async (
  connection: Connection,
  keyName: string,
  keyVersion: number,
  pendingSeconds: number,
): Promise<boolean> =>
  (await scheduleKey(connection, { keyName, keyVersion, pendingSeconds })).length === 1

const selectDueKey = declare<object>('has_due_hsm_keys')

/** Whether a version is due to become active. */
export const hasDueHsmKeys = async (connection: Connection): Promise<boolean> =>
  (await selectDueKey(connection, {})).length > 0

const activateDueKeys = declare<object, HsmKeyVersion>('activate_due_hsm_keys')

/**
 * Activates the versions that are due.
 * @returns these versions.
 */
export const activateDueHsmKeys = (connection: Connection): Promise<HsmKeyVersion[]> =>
  activateDueKeys(connection, {})

const retireOlderKeys = declare<HsmKeyVersion, HsmKeyVersion>('retire_older_hsm_keys')

/**
 * Retires every active version before this one.
 * @returns these versions.
 */
export const retireOlderHsmKeys = (
  connection: Connection,
  keyName: string,
  keyVersion: number,
): Promise<HsmKeyVersion[]> => retireOlderKeys(connection, { keyName, keyVersion })

type SettledKeyVersion = HsmKeyVersion & { readonly settleSeconds: number }

const selectKeyToRetire = declare<SettledKeyVersion>('may_retire_hsm_key')

/** Whether a version is active and its successor has been active for a number of seconds. */
export const mayRetireHsmKey = async (
  connection: Connection,
  keyName: string,
  keyVersion: number,
  settleSeconds: number,
): Promise<boolean> =>
  (await selectKeyToRetire(connection, { keyName, keyVersion, settleSeconds })).length === 1

const retireKey = declare<SettledKeyVersion>('retire_hsm_key')

/**
 * Retires a version whose successor has been active for a number of seconds.
 * @returns whether it was retired.
 */
export const retireHsmKey = async (
  connection: Connection,
  keyName: string,
  keyVersion: number,
  settleSeconds: number,
): Promise<boolean> =>
  (await retireKey(connection, { keyName, keyVersion, settleSeconds })).length === 1

const deleteKey = declare<SettledKeyVersion>('delete_hsm_key')

/**
 * Deletes a version that has been retired for a number of seconds, or an unclaimed pending one
 * beside an active one.
 * @returns whether it was deleted.
 */
export const deleteHsmKey = async (
  connection: Connection,
  keyName: string,
  keyVersion: number,
  settleSeconds: number,
): Promise<boolean> =>
  (await deleteKey(connection, { keyName, keyVersion, settleSeconds })).length === 1

const retireOutlivedKeys = declare<HsmKeyVersion & { seconds: number }, HsmKeyVersion>(
  'retire_outlived_hsm_keys',
)

/**
 * Retires every active version whose successor has been active for a number of seconds.
 * @returns these versions.
 */
export const retireOutlivedHsmKeys = (
  connection: Connection,
  keyName: string,
  keyVersion: number,
  seconds: number,
): Promise<HsmKeyVersion[]> => retireOutlivedKeys(connection, { keyName, keyVersion, seconds })

const takeNumber = declare<{ keyName: string }, { keyVersion: number }>('take_key_number')

/**
 * Returns the number of a key's next version, which no version ever had, including deleted ones.
 */
export async function drawKeyNumber(connection: Connection, keyName: string): Promise<number> {
  const row = firstRow(await takeNumber(connection, { keyName }))
  if (!row) throw new Error('The database gave no number.')
  return row.keyVersion
}

/** The highest number that a key ever drew. */
export interface KeyNumberRow {
  readonly keyName: string
  readonly lastVersion: number
}

const selectNumbers = declare<object, KeyNumberRow>('list_key_numbers')

/** Lists the numbers of all keys; one that never drew a number has none. */
export const listKeyNumbers = (connection: Connection): Promise<KeyNumberRow[]> =>
  selectNumbers(connection, {})
