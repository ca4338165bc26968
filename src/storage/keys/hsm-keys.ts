import { type Connection, firstRow, statement } from '../engine/database.ts'

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

const columns = `key_name as "keyName", key_version as "keyVersion", state, key_block as "keyBlock",
  key_check_value as "keyCheckValue", created_at as "createdAt", activates_at as "activatesAt",
  activated_at as "activatedAt", retired_at as "retiredAt", uses::float8 as "uses"`

const listStatement = statement(
  'list_hsm_keys',
  `select ${columns} from hsm_key order by key_name, key_version`,
)

/** Every key of the installation. */
export const listHsmKeys = (connection: Connection): Promise<DatedHsmKeyRow[]> =>
  connection.query(listStatement)

const findStatement = statement(
  'find_hsm_key',
  `select ${columns} from hsm_key where key_name = $1 and key_version = $2`,
)

/** One version of a key, or null. */
export const findHsmKey = async (
  connection: Connection,
  keyName: string,
  keyVersion: number,
): Promise<DatedHsmKeyRow | null> =>
  firstRow(await connection.query(findStatement, [keyName, keyVersion]))

const insertStatement = statement(
  'insert_hsm_key',
  `insert into hsm_key (key_name, key_version, state, key_block, key_check_value, activated_at)
   values ($1, $2, $3, $4, $5, case when $3 = 'active' then clock_timestamp() end)
   on conflict (key_name, key_version) do nothing returning key_name as "keyName"`,
)

/** Keeps a key, unless another process was first with this version. @returns whether it was kept. */
export const insertHsmKey = async (connection: Connection, key: HsmKeyRow): Promise<boolean> => {
  const { keyBlock, keyCheckValue, keyName, keyVersion, state } = key
  const values = [keyName, keyVersion, state, keyBlock, keyCheckValue]
  return (await connection.query(insertStatement, values)).length === 1
}

const addUsesStatement = statement(
  'add_hsm_key_uses',
  `update hsm_key set uses = greatest(uses + $3::bigint, 0)
   where key_name = $1 and key_version = $2`,
)

/** Adds to the uses of a version; fewer than none gives some back. */
export const addHsmKeyUses = async (
  connection: Connection,
  { keyName, keyVersion }: HsmKeyVersion,
  uses: number,
): Promise<void> => {
  await connection.query(addUsesStatement, [keyName, keyVersion, uses])
}

const scheduleStatement = statement(
  'schedule_hsm_key',
  `with due as materialized (
     select greatest(now(), created_at + make_interval(secs => $3)) as at from hsm_key
     where key_name = $1 and key_version = $2
   )
   update hsm_key set activates_at = due.at from due
   where key_name = $1 and key_version = $2 and state = 'pending' and activates_at is null
   returning key_name as "keyName"`,
)

/**
 * Lets a pending version become active, once it has been pending for so many seconds. @returns false
 * where it was to become so already, or is not pending.
 */
export const scheduleHsmKey = async (
  connection: Connection,
  keyName: string,
  keyVersion: number,
  pendingSeconds: number,
): Promise<boolean> =>
  (await connection.query(scheduleStatement, [keyName, keyVersion, pendingSeconds])).length === 1

const dueStatement = statement(
  'has_due_hsm_keys',
  `select key_name as "keyName" from hsm_key where state = 'pending' and activates_at <= now() limit 1`,
)

/** Whether a version is due to become active. */
export const hasDueHsmKeys = async (connection: Connection): Promise<boolean> =>
  (await connection.query(dueStatement)).length > 0

const activateStatement = statement(
  'activate_due_hsm_keys',
  `update hsm_key set state = 'active', activated_at = now()
   where state = 'pending' and activates_at <= now()
   returning key_name as "keyName", key_version as "keyVersion"`,
)

/** Names one version of a key. */
interface HsmKeyVersion {
  readonly keyName: string
  readonly keyVersion: number
}

/** Makes the versions active that are due. @returns which. */
export const activateDueHsmKeys = (connection: Connection): Promise<HsmKeyVersion[]> =>
  connection.query(activateStatement)

const retireOlderStatement = statement(
  'retire_older_hsm_keys',
  `update hsm_key set state = 'retired', retired_at = now()
   where key_name = $1 and key_version < $2 and state = 'active'
   returning key_name as "keyName", key_version as "keyVersion"`,
)

/** Retires every active version before this one. @returns which. */
export const retireOlderHsmKeys = (
  connection: Connection,
  keyName: string,
  keyVersion: number,
): Promise<HsmKeyVersion[]> => connection.query(retireOlderStatement, [keyName, keyVersion])

const settledSuccessor = `exists (
  select 1 from hsm_key newer where newer.key_name = $1 and newer.key_version > $2
    and newer.state = 'active' and newer.activated_at <= now() - make_interval(secs => $3)
)`

const mayRetireStatement = statement(
  'may_retire_hsm_key',
  `select key_name as "keyName" from hsm_key
   where key_name = $1 and key_version = $2 and state = 'active' and ${settledSuccessor}`,
)

/** Whether a version is active whose successor has been so for so many seconds. */
export const mayRetireHsmKey = async (
  connection: Connection,
  keyName: string,
  keyVersion: number,
  settleSeconds: number,
): Promise<boolean> => {
  const values = [keyName, keyVersion, settleSeconds]
  return (await connection.query(mayRetireStatement, values)).length === 1
}

const retireStatement = statement(
  'retire_hsm_key',
  `update hsm_key set state = 'retired', retired_at = now()
   where key_name = $1 and key_version = $2 and state = 'active' and ${settledSuccessor}
   returning key_name as "keyName"`,
)

/** Retires a version whose successor has been active for so many seconds. @returns whether it did. */
export const retireHsmKey = async (
  connection: Connection,
  keyName: string,
  keyVersion: number,
  settleSeconds: number,
): Promise<boolean> => {
  const values = [keyName, keyVersion, settleSeconds]
  return (await connection.query(retireStatement, values)).length === 1
}

const deleteStatement = statement(
  'delete_hsm_key',
  `delete from hsm_key where key_name = $1 and key_version = $2
     and (
       state = 'retired' and retired_at <= now() - make_interval(secs => $3)
       or state = 'pending' and activates_at is null and exists (
         select 1 from hsm_key other where other.key_name = $1 and other.state = 'active'
       )
     )
   returning key_name as "keyName"`,
)

/**
 * Forgets a version that has been retired for so many seconds, or a pending one beside an active one
 * that nobody has asked for. @returns whether it did.
 */
export const deleteHsmKey = async (
  connection: Connection,
  keyName: string,
  keyVersion: number,
  settleSeconds: number,
): Promise<boolean> => {
  const values = [keyName, keyVersion, settleSeconds]
  return (await connection.query(deleteStatement, values)).length === 1
}

const retireOutlivedStatement = statement(
  'retire_outlived_hsm_keys',
  `update hsm_key set state = 'retired', retired_at = now()
   where key_name = $1 and key_version < $2 and state = 'active'
     and exists (
       select 1 from hsm_key newest where newest.key_name = $1 and newest.key_version = $2
         and newest.activated_at < now() - make_interval(secs => $3)
     )
   returning key_name as "keyName", key_version as "keyVersion"`,
)

/** Retires every active version whose successor has been active for so many seconds. @returns which. */
export const retireOutlivedHsmKeys = (
  connection: Connection,
  keyName: string,
  keyVersion: number,
  seconds: number,
): Promise<HsmKeyVersion[]> =>
  connection.query(retireOutlivedStatement, [keyName, keyVersion, seconds])

// A program from before there were numbers may have made a version without taking one.
const takeStatement = statement(
  'take_key_number',
  `insert into hsm_key_number (key_name, last_version)
   select $1, 1 + coalesce(max(key_version), 0) from hsm_key where key_name = $1
   on conflict (key_name) do update
     set last_version = greatest(hsm_key_number.last_version + 1, excluded.last_version)
   returning last_version as "keyVersion"`,
)

/** The number of a key's next version: one that none had, also of those that were deleted. */
export async function takeKeyNumber(connection: Connection, keyName: string): Promise<number> {
  const row = firstRow<{ keyVersion: number }>(await connection.query(takeStatement, [keyName]))
  if (!row) throw new Error('The database gave no number.')
  return row.keyVersion
}
