import { type Connection, firstRow, statement } from '../engine/database.ts'

/** A key that a card network enciphers PIN blocks under. Of use only to the HSM. */
export interface ZoneKeyRow {
  readonly clientId: string
  readonly keyName: string
  readonly algorithm: 'TDES' | 'AES'
  /** Such as `ISO_FORMAT_0`: the only formats taken under this key. */
  readonly pinBlockFormats: readonly string[]
  readonly keyBlock: string
  readonly keyCheckValue: string
}

const insertStatement = statement(
  'insert_zone_key',
  `insert into zone_key (client_id, key_name, algorithm, pin_block_formats, key_block, key_check_value)
   values ($1, $2, $3, $4, $5, $6)
   on conflict (client_id, key_name) do nothing returning key_name as "keyName"`,
)

/** Keeps a zone key. @returns false where the network has one of this name. */
export const insertZoneKey = async (connection: Connection, key: ZoneKeyRow): Promise<boolean> => {
  const { algorithm, clientId, keyBlock, keyCheckValue, keyName, pinBlockFormats } = key
  const values = [clientId, keyName, algorithm, pinBlockFormats, keyBlock, keyCheckValue]
  return (await connection.query(insertStatement, values)).length === 1
}

const isThereStatement = statement(
  'has_zone_key',
  'select key_name as "keyName" from zone_key where client_id = $1 and key_name = $2',
)

/** Whether a network has, or had, a zone key of this name. */
export const hasZoneKey = async (
  connection: Connection,
  clientId: string,
  keyName: string,
): Promise<boolean> => (await connection.query(isThereStatement, [clientId, keyName])).length > 0

/** A zone key with the instants of its life. */
export interface DatedZoneKeyRow extends ZoneKeyRow {
  readonly createdAt: Date
  readonly retiredAt: Date | null
}

const listStatement = statement(
  'list_zone_keys',
  `select client_id as "clientId", key_name as "keyName", algorithm,
     pin_block_formats as "pinBlockFormats", key_block as "keyBlock",
     key_check_value as "keyCheckValue", created_at as "createdAt", retired_at as "retiredAt"
   from zone_key where client_id = $1 order by key_name`,
)

/** Every zone key of a network. */
export const listZoneKeys = (
  connection: Connection,
  clientId: string,
): Promise<DatedZoneKeyRow[]> => connection.query(listStatement, [clientId])

const retireStatement = statement(
  'retire_zone_key',
  `update zone_key set retired_at = now()
   where client_id = $1 and key_name = $2 and retired_at is null
   returning key_name as "keyName"`,
)

/** Takes no PIN block under a zone key any more. @returns false where there is none. */
export const retireZoneKey = async (
  connection: Connection,
  clientId: string,
  keyName: string,
): Promise<boolean> => (await connection.query(retireStatement, [clientId, keyName])).length === 1

const findStatement = statement(
  'find_zone_key',
  `select client_id as "clientId", key_name as "keyName", algorithm,
     pin_block_formats as "pinBlockFormats", key_block as "keyBlock",
     key_check_value as "keyCheckValue"
   from zone_key where client_id = $1 and key_name = $2 and retired_at is null`,
)

/** A network's zone key, or null. */
export const findZoneKey = async (
  connection: Connection,
  clientId: string,
  keyName: string,
): Promise<ZoneKeyRow | null> =>
  firstRow(await connection.query(findStatement, [clientId, keyName]))
