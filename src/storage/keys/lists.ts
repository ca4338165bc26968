import type { DatedZoneKeyRow } from '../clients/zone-keys.ts'
import { type Connection, statement } from '../engine/database.ts'
import type { DatedHsmKeyRow } from './hsm-keys.ts'
import type { DatedZoneMasterKeyRow } from './key-blocks.ts'

/** A version of a key, and whether new things are made under it. */
interface ListedHsmKeyRow extends DatedHsmKeyRow {
  readonly current: boolean
}

const hsmKeysStatement = statement(
  'list_hsm_keys_after',
  `select key_name as "keyName", key_version as "keyVersion", state, key_block as "keyBlock",
     key_check_value as "keyCheckValue", created_at as "createdAt", activates_at as "activatesAt",
     activated_at as "activatedAt", retired_at as "retiredAt", uses::float8 as "uses",
     state = 'active' and not exists (
       select 1 from hsm_key newer where newer.key_name = listed.key_name
         and newer.key_version > listed.key_version and newer.state = 'active'
     ) as "current"
   from hsm_key listed where (key_name, key_version) > ($1, $2)
   order by key_name, key_version limit $3`,
)

/** Versions of the installation's keys after this one, by name and number. */
export const listHsmKeysAfter = (
  connection: Connection,
  keyName: string,
  keyVersion: number,
  limit: number,
): Promise<ListedHsmKeyRow[]> => connection.query(hsmKeysStatement, [keyName, keyVersion, limit])

const zoneMasterKeysStatement = statement(
  'list_zone_master_keys_after',
  `select key_name as "keyName", key_block as "keyBlock", key_check_value as "keyCheckValue",
     created_at as "createdAt", retired_at as "retiredAt"
   from zone_master_key where key_name > $1 order by key_name limit $2`,
)

/** Zone master keys after this one, by name. */
export const listZoneMasterKeysAfter = (
  connection: Connection,
  keyName: string,
  limit: number,
): Promise<DatedZoneMasterKeyRow[]> => connection.query(zoneMasterKeysStatement, [keyName, limit])

const zoneColumns = `client_id as "clientId", key_name as "keyName", algorithm,
  pin_block_formats as "pinBlockFormats", key_block as "keyBlock",
  key_check_value as "keyCheckValue", created_at as "createdAt", retired_at as "retiredAt"`

const zoneKeysStatement = statement(
  'list_zone_keys_after',
  `select ${zoneColumns} from zone_key where (client_id, key_name) > ($1, $2)
   order by client_id, key_name limit $3`,
)

/** Zone keys after this one, by network and name. */
export const listZoneKeysAfter = (
  connection: Connection,
  clientId: string,
  keyName: string,
  limit: number,
): Promise<DatedZoneKeyRow[]> => connection.query(zoneKeysStatement, [clientId, keyName, limit])

const newestStatement = statement(
  'list_newest_zone_keys',
  `select ${zoneColumns} from (
     select zone_key.*, row_number() over (
       partition by client_id order by retired_at is not null, created_at desc, key_name
     ) as place
     from zone_key where client_id = any ($1::text[])
   ) ranked where place <= $2 order by client_id, key_name`,
)

/** So many keys of each network: those in use before those that are retired, the newest first of each. */
export const listNewestZoneKeys = (
  connection: Connection,
  clientIds: readonly string[],
  limit: number,
): Promise<DatedZoneKeyRow[]> => connection.query(newestStatement, [clientIds, limit])
