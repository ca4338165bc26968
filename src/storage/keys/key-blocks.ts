import { type Connection, firstRow } from '../engine/database.ts'
import { loadStatements } from '../engine/statements.ts'

/** Every table that holds key blocks under the master key. */
export const keyBlockTables = ['hsm_key', 'zone_key', 'zone_master_key', 'key_component'] as const
type KeyBlockTable = (typeof keyBlockTables)[number]

/** A key block with the purpose of its key. */
interface KeyBlockRow {
  readonly keyBlock: string
  readonly purpose: string
}

const declare = loadStatements(import.meta.url)

const selectHsmKeys = declare<object, KeyBlockRow>('list_key_blocks_hsm_key')
const selectZoneKeys = declare<object, KeyBlockRow>('list_key_blocks_zone_key')
const selectZoneMasterKeys = declare<object, KeyBlockRow>('list_key_blocks_zone_master_key')
const selectComponents = declare<object, KeyBlockRow>('list_key_blocks_key_component')
const selectKeyBlocks = {
  hsm_key: selectHsmKeys,
  zone_key: selectZoneKeys,
  zone_master_key: selectZoneMasterKeys,
  key_component: selectComponents,
}

/** Lists every key block of a table, locked until the transaction ends. */
export const listKeyBlocks = (
  connection: Connection,
  table: KeyBlockTable,
): Promise<KeyBlockRow[]> => selectKeyBlocks[table](connection, {})

const selectIsKept = declare<{ keyBlock: string }, { isKept: boolean }>('is_key_block_kept')

/** Whether a row has this key block. */
export const isKeyBlockKept = async (connection: Connection, keyBlock: string): Promise<boolean> =>
  firstRow(await selectIsKept(connection, { keyBlock }))?.isKept ?? true

interface KeyBlockMove {
  readonly before: string
  readonly after: string
}

const updateHsmKeys = declare<KeyBlockMove>('move_key_block_hsm_key')
const updateZoneKeys = declare<KeyBlockMove>('move_key_block_zone_key')
const updateZoneMasterKeys = declare<KeyBlockMove>('move_key_block_zone_master_key')
const updateComponents = declare<KeyBlockMove>('move_key_block_key_component')
const updateKeyBlocks = {
  hsm_key: updateHsmKeys,
  zone_key: updateZoneKeys,
  zone_master_key: updateZoneMasterKeys,
  key_component: updateComponents,
}

/**
 * Replaces a key block.
 * @returns the number of rows with it.
 */
export const moveKeyBlock = async (
  connection: Connection,
  table: KeyBlockTable,
  before: string,
  after: string,
): Promise<number> => (await updateKeyBlocks[table](connection, { before, after })).length

/** A key that encrypts other keys for exchange with another installation. */
interface ZoneMasterKeyRow {
  readonly keyName: string
  readonly keyBlock: string
  readonly keyCheckValue: string
}

/** A zone master key with the times of its states. */
export interface DatedZoneMasterKeyRow extends ZoneMasterKeyRow {
  readonly createdAt: Date
  readonly retiredAt: Date | null
}

const selectZoneMasterKey = declare<{ keyName: string }, DatedZoneMasterKeyRow>(
  'find_zone_master_key',
)

/** Returns an active zone master key, or null. */
export const findZoneMasterKey = async (
  connection: Connection,
  keyName: string,
): Promise<DatedZoneMasterKeyRow | null> =>
  firstRow(await selectZoneMasterKey(connection, { keyName }))

const insertMasterKey = declare<ZoneMasterKeyRow>('insert_zone_master_key')

/**
 * Stores a zone master key.
 * @returns false if the name is taken.
 */
export const insertZoneMasterKey = async (
  connection: Connection,
  key: ZoneMasterKeyRow,
): Promise<boolean> => (await insertMasterKey(connection, key)).length === 1

const retireMasterKey = declare<{ keyName: string }>('retire_zone_master_key')

/**
 * Retires a zone master key, so that no keys are exchanged under it.
 * @returns false if it does not exist.
 */
export const retireZoneMasterKey = async (
  connection: Connection,
  keyName: string,
): Promise<boolean> => (await retireMasterKey(connection, { keyName })).length === 1
