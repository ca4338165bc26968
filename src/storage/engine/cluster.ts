import { StartRefusal } from '../../domain/problem.ts'
import { type Connection, type Database, firstRow, lockTimeoutMs } from './database.ts'
import { distributeFunctions } from './functions.ts'
import { lockMigrations } from './migrate.ts'
import { placement } from './placement.ts'
import { loadStatements } from './statements.ts'

/** How the tables of a database lie on its nodes. */
interface ClusterFacts {
  /** Nodes that rows can be spread on, the coordinator among them where it takes some. */
  readonly nodes: number
  /** Whether the other nodes know how to reach the coordinator. */
  readonly isCoordinatorKnown: boolean
  /** Whether they are all there, and answer. */
  readonly tables: readonly PlacedTable[]
}

/** A table that is spread or copied. */
interface PlacedTable {
  readonly tableName: string
  /** What it is spread by; null where each node has all of it. */
  readonly column: string | null
}

type NodeFacts = Omit<ClusterFacts, 'tables'>

const declare = loadStatements(import.meta.url)

const selectIsCluster = declare<object, { isCluster: boolean }>('is_cluster')
const selectNodes = declare<object, NodeFacts>('count_cluster_nodes')
const selectPlaced = declare<object, PlacedTable>('list_placed_tables')

/** How the tables lie on a cluster; null where the database is none. */
export async function examineCluster(connection: Connection): Promise<ClusterFacts | null> {
  const rows = await selectIsCluster(connection, {})
  if (!firstRow(rows)?.isCluster) return null
  const nodes = firstRow(await selectNodes(connection, {}))
  if (!nodes) throw new Error('The cluster returned no facts about its nodes.')
  return { ...nodes, tables: await selectPlaced(connection, {}) }
}

/** What each table is to be spread by; null: each node is to have all of it. */
const columnsByTable: ReadonlyMap<string, string | null> = new Map([
  ...placement.copied.map((table) => [table, null] as const),
  ...placement.spread.flatMap(({ column, tables }) =>
    tables.map((table) => [table, column] as const),
  ),
])

/** Tables that do not lie as they are to, yet. @throws `StartRefusal` where one lies otherwise. */
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

/** What a preparation did. */
export interface Preparation {
  readonly nodes: number
  readonly copied: readonly string[]
  readonly spread: readonly Required<PlacedTable>[]
  /** References between tables that were taken away meanwhile, and are there again. */
  readonly references: number
  /** Tables whose rows the coordinator had as well, and has no more. */
  readonly cleared: readonly string[]
}

// What is copied or spread for the first time may take as long as it takes. One node after the
// other: a reference between tables is checked on connections that made neither.
const prepareTransaction = `set local lock_timeout = 0; set local statement_timeout = 0;
  set local idle_in_transaction_session_timeout = 0;
  set local citus.multi_shard_modify_mode = 'sequential'`

interface TableReference {
  /** What takes it away, as SQL. */
  readonly drop: string
  /** What makes it again, as SQL. */
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
 * Spreads the tables over the nodes of a cluster, those that are not yet: all in one transaction,
 * whatever is in them. Done again it does nothing.
 * @throws `StartRefusal` where the database is no cluster, or one that has no nodes.
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
    // Another one may have done it while the lock was waited for.
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
  // The engine takes no reference to a table that lies otherwise: they come back once all lie where
  // they are to.
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
