import type { Connection } from '../engine/database.ts'
import { loadStatements } from '../engine/statements.ts'
import type { DatedHsmKeyRow } from './hsm-keys.ts'
import type { DatedZoneMasterKeyRow } from './key-blocks.ts'
import type { DatedZoneKeyRow } from './zone-keys.ts'

/** A version of a key, and whether it protects new data. */
interface ListedHsmKeyRow extends DatedHsmKeyRow {
  readonly current: boolean
}

const declare = loadStatements(import.meta.url)

const selectHsmKeys = declare<
  { keyName: string; keyVersion: number; limit: number },
  ListedHsmKeyRow
>('list_hsm_keys_after')

/** Lists versions of the installation's keys after this one, by name and number. */
export const listHsmKeysAfter = (
  connection: Connection,
  keyName: string,
  keyVersion: number,
  limit: number,
): Promise<ListedHsmKeyRow[]> => selectHsmKeys(connection, { keyName, keyVersion, limit })

const selectZoneMasterKeys = declare<{ keyName: string; limit: number }, DatedZoneMasterKeyRow>(
  'list_zone_master_keys_after',
)

/** Lists zone master keys after this one, by name. */
export const listZoneMasterKeysAfter = (
  connection: Connection,
  keyName: string,
  limit: number,
): Promise<DatedZoneMasterKeyRow[]> => selectZoneMasterKeys(connection, { keyName, limit })

const selectZoneKeys = declare<
  { clientId: string; keyName: string; limit: number },
  DatedZoneKeyRow
>('list_zone_keys_after')

/** Lists zone keys after this one, by network and name. */
export const listZoneKeysAfter = (
  connection: Connection,
  clientId: string,
  keyName: string,
  limit: number,
): Promise<DatedZoneKeyRow[]> => selectZoneKeys(connection, { clientId, keyName, limit })

const selectNewestZoneKeys = declare<
  { clientIds: readonly string[]; limit: number },
  DatedZoneKeyRow
>('list_newest_zone_keys')

/** Lists keys of each network up to a limit: active ones before retired ones, each newest first. */
export const listNewestZoneKeys = (
  connection: Connection,
  clientIds: readonly string[],
  limit: number,
): Promise<DatedZoneKeyRow[]> => selectNewestZoneKeys(connection, { clientIds, limit })
