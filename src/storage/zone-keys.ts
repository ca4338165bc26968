import { type Connection, firstRow, statement } from './database.ts'

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
   on conflict (client_id, key_name) do nothing`,
)

/** Keeps a zone key, unless the network has one of this name. */
export const insertZoneKey = async (connection: Connection, key: ZoneKeyRow): Promise<void> => {
  await connection.query(insertStatement, [
    key.clientId,
    key.keyName,
    key.algorithm,
    key.pinBlockFormats,
    key.keyBlock,
    key.keyCheckValue,
  ])
}

const findStatement = statement(
  'find_zone_key',
  `select client_id as "clientId", key_name as "keyName", algorithm,
     pin_block_formats as "pinBlockFormats", key_block as "keyBlock",
     key_check_value as "keyCheckValue"
   from zone_key where client_id = $1 and key_name = $2`,
)

/** A network's zone key, or null. */
export const findZoneKey = async (
  connection: Connection,
  clientId: string,
  keyName: string,
): Promise<ZoneKeyRow | null> =>
  firstRow(await connection.query(findStatement, [clientId, keyName]))
