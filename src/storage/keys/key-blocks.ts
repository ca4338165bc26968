import { type Connection, firstRow, type Statement, statement } from '../engine/database.ts'

/** Every table that holds key blocks under the master key. */
export const keyBlockTables = ['hsm_key', 'zone_key', 'zone_master_key', 'key_component'] as const
type KeyBlockTable = (typeof keyBlockTables)[number]

const byTable = (make: (table: KeyBlockTable) => Statement): Record<KeyBlockTable, Statement> => ({
  hsm_key: make('hsm_key'),
  zone_key: make('zone_key'),
  zone_master_key: make('zone_master_key'),
  key_component: make('key_component'),
})

/** What the keys of each table are for: those of the installation each have a name. */
const purposes: Record<KeyBlockTable, string> = {
  hsm_key: 'key_name',
  zone_key: `'zone'`,
  zone_master_key: `'zone-master'`,
  key_component: `'component'`,
}

const listStatements = byTable((table) =>
  statement(
    `list_key_blocks_${table}`,
    `select key_block as "keyBlock", ${purposes[table]} as "purpose" from ${table} for update`,
  ),
)

/** A key block, and what its key is for. */
interface KeyBlockRow {
  readonly keyBlock: string
  readonly purpose: string
}

/** Every key block of a table, locked until the transaction ends. */
export const listKeyBlocks = (
  connection: Connection,
  table: KeyBlockTable,
): Promise<KeyBlockRow[]> => connection.query(listStatements[table])

const keptStatement = statement(
  'is_key_block_kept',
  `select exists (select 1 from hsm_key where key_block = $1)
     or exists (select 1 from zone_key where key_block = $1)
     or exists (select 1 from zone_master_key where key_block = $1) as "isKept"`,
)

/** Whether a row names this key. */
export const isKeyBlockKept = async (connection: Connection, keyBlock: string): Promise<boolean> =>
  firstRow<{ isKept: boolean }>(await connection.query(keptStatement, [keyBlock]))?.isKept ?? true

const moveStatements = byTable((table) =>
  statement(
    `move_key_block_${table}`,
    `update ${table} set key_block = $2 where key_block = $1 returning 1 as one`,
  ),
)

/** Replaces a key block. @returns how many rows had it. */
export const moveKeyBlock = async (
  connection: Connection,
  table: KeyBlockTable,
  before: string,
  after: string,
): Promise<number> => (await connection.query(moveStatements[table], [before, after])).length

/** A key that other keys are exchanged under, between this installation and another. */
interface ZoneMasterKeyRow {
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

/** Lets no key be exchanged under a zone master key any more. @returns false where there is none. */
export const retireZoneMasterKey = async (
  connection: Connection,
  keyName: string,
): Promise<boolean> => (await connection.query(retireStatement, [keyName])).length === 1
