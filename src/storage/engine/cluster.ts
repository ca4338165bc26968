import { StartRefusal } from '../../domain/problem.ts'
import { type Connection, type Database, firstRow, lockTimeoutMs } from './database.ts'
import { distributeFunctions } from './functions.ts'
import { lockMigrations } from './migrate.ts'
import { placement } from './placement.ts'
import { loadStatements } from './statements.ts'

/** The placement of a database's tables on its nodes. */
interface ClusterFacts {
  /** The number of nodes for rows, including the coordinator if it takes some. */
  readonly nodes: number
  /** Whether the other nodes know the address of the coordinator. */
  readonly isCoordinatorKnown: boolean
  /** Whether all nodes exist and answer. */
  readonly tables: readonly PlacedTable[]
}

/** A distributed or copied table. */
interface PlacedTable {
  readonly tableName: string
  /** The distribution column; null if each node has the whole table. */
  readonly column: string | null
}

type NodeFacts = Omit<ClusterFacts, 'tables'>

const declare = loadStatements(import.meta.url)

const selectIsCluster = declare<object, { isCluster: boolean }>('is_cluster')
const selectNodes = declare<object, NodeFacts>('count_cluster_nodes')
const selectPlaced = declare<object, PlacedTable>('list_placed_tables')

/** Reads the placement of the tables on a cluster; null if the database is no cluster. */
export async function examineCluster(connection: Connection): Promise<ClusterFacts | null> {
  const rows = await selectIsCluster(connection, {})
  if (!firstRow(rows)?.isCluster) return null
  const nodes = firstRow(await selectNodes(connection, {}))
  if (!nodes) throw new Error('The cluster returned no facts about its nodes.')
  return { ...nodes, tables: await selectPlaced(connection, {}) }
}

/** The distribution column of each table; null for tables that every node copies. */
const columnsByTable: ReadonlyMap<string, string | null> = new Map([
  ...placement.copied.map((table) => [table, null] as const),
  ...placement.spread.flatMap(({ column, tables }) =>
    tables.map((table) => [table, column] as const),
  ),
])

/**
 * Lists the tables that are not yet placed.
 * @throws `StartRefusal` if one is placed differently.
 */
export function listUnplaced({ tables }: ClusterFacts): readonly string[] {
  const placed = new Map(tables.map(({ column, tableName }) => [tableName, column]))
  for (const [table, column] of columnsByTable) {
    const found = placed.get(table)
    if (found !== undefined && found !== column) {
      throw new StartRefusal(
        `The table ${table} is ` +
          `${found === null ? 'copied to each node' : `distributed by ${found}`}, but must be ` +
          `${column === null ? 'copied' : `distributed by ${column}`}: ` +
          `undistribute_table('${table}') undoes this; then prepare again.`,
      )
    }
  }
  return [...columnsByTable.keys()].filter((table) => !placed.has(table))
}

/** The results of a preparation. */
export interface Preparation {
  readonly nodes: number
  readonly copied: readonly string[]
  readonly spread: readonly Required<PlacedTable>[]
  /** The number of foreign keys that were dropped and created again. */
  readonly references: number
  /** The tables whose rows were removed from the coordinator. */
  readonly cleared: readonly string[]
}

// The first distribution of a table takes as long as it needs. The nodes work one after the other:
// a foreign key is checked on connections that created neither of its tables.
const prepareTransaction = `set local lock_timeout = 0; set local statement_timeout = 0;
  set local idle_in_transaction_session_timeout = 0;
  set local citus.multi_shard_modify_mode = 'sequential'`

interface TableReference {
  /** Drops the foreign key, as SQL. */
  readonly drop: string
  /** Creates it again, as SQL. */
  readonly add: string
}

const selectReferences = declare<{ tables: readonly string[] }, TableReference>(
  'list_references_of_tables',
)
const selectLockTimeout = declare<{ lockTimeoutMs: number }, { set: string }>(
  'find_lock_timeout_of_nodes',
)
const copyTable = declare<{ tableName: string }>('copy_table_to_nodes')
const spreadTable = declare<{ tableName: string; column: string; colocated: string }>(
  'spread_table',
)
const selectLeftovers = declare<{ tables: readonly string[] }, { tableName: string }>(
  'list_rows_left_on_coordinator',
)
const clearLeftovers = declare<{ tableName: string }>('clear_rows_left_on_coordinator')

/**
 * Distributes the tables that are not yet placed over the nodes of a cluster, in one transaction,
 * with their rows. A repeat does nothing.
 * @throws `StartRefusal` if the database is no cluster, or has no nodes.
 */
export async function prepareCluster(database: Database): Promise<Preparation> {
  const before = await examineCluster(database)
  if (!before) {
    throw new StartRefusal(
      'The database is not a cluster: the extension citus is missing. Create it on every node ' +
        '(create extension citus), or use one server, which needs no preparation.',
    )
  }
  if (!before.isCoordinatorKnown) {
    throw new StartRefusal(
      'The nodes do not know the address of the coordinator: run select ' +
        "citus_set_coordinator_host('HOST', PORT).",
    )
  }
  if (before.nodes === 0) {
    throw new StartRefusal(
      "The cluster has no nodes: add one with select citus_add_node('HOST', PORT).",
    )
  }
  const done = await database.transaction(async (connection) => {
    await connection.script(prepareTransaction)
    await lockMigrations(connection, {})
    const timeouts = await selectLockTimeout(connection, { lockTimeoutMs })
    for (const { set } of timeouts) await connection.script(set)
    // Another process may have done it while this one waited for the lock.
    const spread = await spreadOver(
      connection,
      listUnplaced((await examineCluster(connection)) ?? before),
    )
    await distributeFunctions(connection)
    return spread
  })
  const left = await selectLeftovers(database, { tables: [...columnsByTable.keys()] })
  const cleared = left.map(({ tableName }) => tableName)
  await database.transaction(async (connection) => {
    await connection.script(prepareTransaction)
    for (const tableName of cleared) await clearLeftovers(connection, { tableName })
  })
  return { nodes: before.nodes, ...done, cleared }
}

async function spreadOver(connection: Connection, due: readonly string[]) {
  const isDue = (table: string): boolean => due.includes(table)
  // The engine does not allow foreign keys between tables that are placed differently, so they are
  // created again at the end.
  const references = await selectReferences(connection, { tables: due })
  for (const { drop } of references) await connection.script(drop)
  const copied = placement.copied.filter(isDue)
  for (const tableName of copied) await copyTable(connection, { tableName })
  const spreadNow: Required<PlacedTable>[] = []
  for (const { column, tables } of placement.spread) {
    for (const tableName of tables.filter(isDue)) {
      const colocated = tables[0] === tableName ? 'none' : (tables[0] ?? 'none')
      await spreadTable(connection, { tableName, column, colocated })
      spreadNow.push({ tableName, column })
    }
  }
  for (const { add } of references) await connection.script(add)
  return { copied, spread: spreadNow, references: references.length }
}
