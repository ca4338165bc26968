import { type Connection, firstRow, type Statement, statement } from './database.ts'

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
export interface KeyBlockRow {
  readonly keyBlock: string
  readonly purpose: string
}

/** Every key block of a table, held until the transaction ends. */
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

/** Replaces a key block. @returns how many rows held it. */
export const moveKeyBlock = async (
  connection: Connection,
  table: KeyBlockTable,
  before: string,
  after: string,
): Promise<number> => (await connection.query(moveStatements[table], [before, after])).length
