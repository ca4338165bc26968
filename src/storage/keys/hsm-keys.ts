import { type Connection, firstRow } from '../engine/database.ts'
import { loadStatements } from '../engine/statements.ts'

export type HsmKeyState = 'pending' | 'active' | 'retired'

/** One version of a key: of use only to the HSM that holds the master key. */
interface HsmKeyRow {
  readonly keyName: string
  readonly keyVersion: number
  readonly state: HsmKeyState
  readonly keyBlock: string
  readonly keyCheckValue: string
}

/** A version with the instants of its life. */
export interface DatedHsmKeyRow extends HsmKeyRow {
  readonly createdAt: Date
  /** When it is to become active; null where nobody has asked for it. */
  readonly activatesAt: Date | null
  readonly activatedAt: Date | null
  readonly retiredAt: Date | null
  /** Uses by all processes, and those that the ones at work have set aside. */
  readonly uses: number
}

/** Names one version of a key. */
interface HsmKeyVersion {
  readonly keyName: string
  readonly keyVersion: number
}

const declare = loadStatements(import.meta.url)

const selectKeys = declare<object, DatedHsmKeyRow>('list_hsm_keys')

/** Every key of the installation. */
export const listHsmKeys = (connection: Connection): Promise<DatedHsmKeyRow[]> =>
  selectKeys(connection, {})

const selectKey = declare<HsmKeyVersion, DatedHsmKeyRow>('find_hsm_key')

/** One version of a key, or null. */
export const findHsmKey = async (
  connection: Connection,
  keyName: string,
  keyVersion: number,
): Promise<DatedHsmKeyRow | null> => firstRow(await selectKey(connection, { keyName, keyVersion }))

const insertKey = declare<HsmKeyRow, { keyName: string }>('insert_hsm_key')

/**
 * Keeps a key, unless another process was first with this version.
 * @returns whether it was kept.
 */
export const insertHsmKey = async (connection: Connection, key: HsmKeyRow): Promise<boolean> =>
  (await insertKey(connection, key)).length === 1

const updateUses = declare<HsmKeyVersion & { uses: number }>('add_hsm_key_uses')

/** Adds to the uses of a version; fewer than none gives some back. */
export const addHsmKeyUses = async (
  connection: Connection,
  { keyName, keyVersion }: HsmKeyVersion,
  uses: number,
): Promise<void> => {
  await updateUses(connection, { keyName, keyVersion, uses })
}

const scheduleKey = declare<HsmKeyVersion & { pendingSeconds: number }>('schedule_hsm_key')

/**
 * Lets a pending version become active, once it has been pending for so many seconds. @returns
 * false where it was to become so already, or is not pending.
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

/** Makes the versions active that are due. @returns which. */
export const activateDueHsmKeys = (connection: Connection): Promise<HsmKeyVersion[]> =>
  activateDueKeys(connection, {})

const retireOlderKeys = declare<HsmKeyVersion, HsmKeyVersion>('retire_older_hsm_keys')

/** Retires every active version before this one. @returns which. */
export const retireOlderHsmKeys = (
  connection: Connection,
  keyName: string,
  keyVersion: number,
): Promise<HsmKeyVersion[]> => retireOlderKeys(connection, { keyName, keyVersion })

type SettledKeyVersion = HsmKeyVersion & { readonly settleSeconds: number }

const selectKeyToRetire = declare<SettledKeyVersion>('may_retire_hsm_key')

/** Whether a version is active whose successor has been so for so many seconds. */
export const mayRetireHsmKey = async (
  connection: Connection,
  keyName: string,
  keyVersion: number,
  settleSeconds: number,
): Promise<boolean> =>
  (await selectKeyToRetire(connection, { keyName, keyVersion, settleSeconds })).length === 1

const retireKey = declare<SettledKeyVersion>('retire_hsm_key')

/**
 * Retires a version whose successor has been active for so many seconds.
 * @returns whether it did.
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
 * Deletes a version that has been retired for so many seconds, or an unclaimed pending one beside
 * an active one. @returns whether it was deleted.
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
 * Retires every active version whose successor has been active for so many seconds.
 * @returns which.
 */
export const retireOutlivedHsmKeys = (
  connection: Connection,
  keyName: string,
  keyVersion: number,
  seconds: number,
): Promise<HsmKeyVersion[]> => retireOutlivedKeys(connection, { keyName, keyVersion, seconds })

const takeNumber = declare<{ keyName: string }, { keyVersion: number }>('take_key_number')

/** The number of a key's next version: one that none had, also of those that were deleted. */
export async function drawKeyNumber(connection: Connection, keyName: string): Promise<number> {
  const row = firstRow(await takeNumber(connection, { keyName }))
  if (!row) throw new Error('The database gave no number.')
  return row.keyVersion
}
