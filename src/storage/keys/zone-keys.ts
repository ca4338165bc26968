import { type Connection, firstRow } from '../engine/database.ts'
import { loadStatements } from '../engine/statements.ts'

/** A key with which a card network enciphers PIN blocks. Only the HSM can use it. */
export interface ZoneKeyRow {
  readonly clientId: string
  readonly keyName: string
  readonly algorithm: 'TDES' | 'AES'
  /** Such as `ISO_FORMAT_0`: the only formats accepted under this key. */
  readonly pinBlockFormats: readonly string[]
  readonly keyBlock: string
  readonly keyCheckValue: string
}

const declare = loadStatements(import.meta.url)

const insert = declare<ZoneKeyRow>('insert_zone_key')

/**
 * Stores a zone key.
 * @returns false if the network has one with this name.
 */
export const insertZoneKey = async (connection: Connection, key: ZoneKeyRow): Promise<boolean> =>
  (await insert(connection, key)).length === 1

type ZoneKeyReference = Pick<ZoneKeyRow, 'clientId' | 'keyName'>

const selectName = declare<ZoneKeyReference>('has_zone_key')

/** Whether a network has, or had, a zone key of this name. */
export const hasZoneKey = async (
  connection: Connection,
  clientId: string,
  keyName: string,
): Promise<boolean> => (await selectName(connection, { clientId, keyName })).length > 0

/** A zone key with the times of its states. */
export interface DatedZoneKeyRow extends ZoneKeyRow {
  readonly createdAt: Date
  readonly retiredAt: Date | null
}

const selectZoneKeys = declare<{ clientId: string }, DatedZoneKeyRow>('list_zone_keys')

/** Lists every zone key of a network. */
export const listZoneKeys = (
  connection: Connection,
  clientId: string,
): Promise<DatedZoneKeyRow[]> => selectZoneKeys(connection, { clientId })

const updateRetired = declare<ZoneKeyReference>('retire_zone_key')

/**
 * Retires a zone key: PIN blocks under it are rejected.
 * @returns false if it does not exist.
 */
export const retireZoneKey = async (
  connection: Connection,
  clientId: string,
  keyName: string,
): Promise<boolean> => (await updateRetired(connection, { clientId, keyName })).length === 1

const selectZoneKey = declare<ZoneKeyReference, ZoneKeyRow>('find_zone_key')

/** Returns a network's zone key, or null. */
export const findZoneKey = async (
  connection: Connection,
  clientId: string,
  keyName: string,
): Promise<ZoneKeyRow | null> => firstRow(await selectZoneKey(connection, { clientId, keyName }))
