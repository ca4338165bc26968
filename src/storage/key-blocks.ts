import { type Connection, type Statement, statement } from './database.ts'

/** Every table that holds key blocks under the master key. */
export const keyBlockTables = ['hsm_key', 'zone_key', 'zone_master_key', 'key_component'] as const
type KeyBlockTable = (typeof keyBlockTables)[number]

const byTable = (make: (table: KeyBlockTable) => Statement): Record<KeyBlockTable, Statement> => ({
  hsm_key: make('hsm_key'),
  zone_key: make('zone_key'),
  zone_master_key: make('zone_master_key'),
  key_component: make('key_component'),
})

const listStatements = byTable((table) =>
  statement(`list_key_blocks_${table}`, `select key_block as "keyBlock" from ${table} for update`),
)

/** Every key block of a table, held until the transaction ends. */
export const listKeyBlocks = async (
  connection: Connection,
  table: KeyBlockTable,
): Promise<string[]> =>
  (await connection.query<{ keyBlock: string }>(listStatements[table])).map(
    ({ keyBlock }) => keyBlock,
  )

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
