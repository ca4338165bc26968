import { type Connection, firstRow, statement } from './database.ts'

/** A key that other keys travel under, between this installation and another. */
export interface ZoneMasterKeyRow {
  readonly keyName: string
  readonly keyBlock: string
  readonly keyCheckValue: string
}

/** A zone master key with the instants of its life. */
export interface DatedZoneMasterKeyRow extends ZoneMasterKeyRow {
  readonly createdAt: Date
  readonly retiredAt: Date | null
}

const columns = `key_name as "keyName", key_block as "keyBlock",
  key_check_value as "keyCheckValue", created_at as "createdAt", retired_at as "retiredAt"`

const findStatement = statement(
  'find_zone_master_key',
  `select ${columns} from zone_master_key where key_name = $1 and retired_at is null`,
)

/** A zone master key in use, or null. */
export const findZoneMasterKey = async (
  connection: Connection,
  keyName: string,
): Promise<DatedZoneMasterKeyRow | null> =>
  firstRow(await connection.query(findStatement, [keyName]))

const insertStatement = statement(
  'insert_zone_master_key',
  `insert into zone_master_key (key_name, key_block, key_check_value) values ($1, $2, $3)
   on conflict (key_name) do nothing returning key_name as "keyName"`,
)

/** Keeps a zone master key. @returns false where the name is taken. */
export const insertZoneMasterKey = async (
  connection: Connection,
  { keyBlock, keyCheckValue, keyName }: ZoneMasterKeyRow,
): Promise<boolean> =>
  (await connection.query(insertStatement, [keyName, keyBlock, keyCheckValue])).length === 1

const retireStatement = statement(
  'retire_zone_master_key',
  `update zone_master_key set retired_at = now() where key_name = $1 and retired_at is null
   returning key_name as "keyName"`,
)

/** Lets nothing travel under a zone master key any more. @returns false where there is none. */
export const retireZoneMasterKey = async (
  connection: Connection,
  keyName: string,
): Promise<boolean> => (await connection.query(retireStatement, [keyName])).length === 1
