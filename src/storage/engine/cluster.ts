import { StartRefusal } from '../../domain/problem.ts'
import { type Connection, type Database, firstRow, lockTimeoutMs, statement } from './database.ts'
import { lockMigrations } from './migrate.ts'
import { placement } from './placement.ts'

/** Whether the database is a Citus cluster, as a select of its own. */
export const isClusterText = `select exists (
  select from pg_extension where extname = 'citus'
) as is_cluster`

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

const isClusterStatement = statement(
  'is_cluster',
  `select is_cluster as "isCluster" from (${isClusterText}) as asked`,
)
const nodesStatement = statement(
  'count_cluster_nodes',
  `select count(*) filter (where isactive and shouldhaveshards)::integer as "nodes",
     coalesce(bool_or(groupid = 0), false) as "isCoordinatorKnown"
   from pg_dist_node where noderole = 'primary'`,
)
const placedStatement = statement(
  'list_placed_tables',
  `select logicalrelid::text as "tableName", column_to_column_name(logicalrelid, partkey) as "column"
   from pg_dist_partition where partmethod = 'h' or repmodel = 't'`,
)

/** How the tables lie on a cluster; null where the database is none. */
export async function examineCluster(connection: Connection): Promise<ClusterFacts | null> {
  const rows = await connection.query<{ isCluster: boolean }>(isClusterStatement)
  if (!firstRow(rows)?.isCluster) return null
  type Nodes = Omit<ClusterFacts, 'tables'>
  const nodes = firstRow(await connection.query<Nodes>(nodesStatement))
  if (!nodes) throw new Error('The cluster says nothing of its nodes.')
  return { ...nodes, tables: await connection.query<PlacedTable>(placedStatement) }
}

/** What each table is to be spread by; null: each node is to have all of it. */
const columnOf: ReadonlyMap<string, string | null> = new Map([
  ...placement.copied.map((table) => [table, null] as const),
  ...placement.spread.flatMap(({ column, tables }) =>
    tables.map((table) => [table, column] as const),
  ),
])

/** Tables that do not lie as they are to, yet. @throws `StartRefusal` where one lies otherwise. */
export function listUnplaced({ tables }: ClusterFacts): readonly string[] {
  const placed = new Map(tables.map(({ column, tableName }) => [tableName, column]))
  for (const [table, column] of columnOf) {
    const found = placed.get(table)
    if (found !== undefined && found !== column) {
      throw new StartRefusal(
        `The table ${table} is ${found === null ? 'copied to each node' : `spread by ${found}`}, and is to be ${column === null ? 'copied' : `spread by ${column}`}: undistribute_table('${table}') takes it back, then prepare again.`,
      )
    }
  }
  return [...columnOf.keys()].filter((table) => !placed.has(table))
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

// What is copied or spread for the first time may take as long as it takes. One node after the other: a reference
// between tables is checked on connections that made neither.
const prepareTransaction = `set local lock_timeout = 0; set local statement_timeout = 0;
  set local idle_in_transaction_session_timeout = 0;
  set local citus.multi_shard_modify_mode = 'sequential'`

const referencesStatement = statement(
  'list_references_of_tables',
  `select format('alter table %s drop constraint %I', conrelid::regclass, conname) as "drop",
     format('alter table %s add constraint %I %s', conrelid::regclass, conname,
       pg_get_constraintdef(oid)) as "add"
   from pg_constraint
   where contype = 'f' and (conrelid::regclass::text = any ($1) or confrelid::regclass::text = any ($1))
   order by conrelid::regclass::text, conname`,
)
// Rows are locked on the nodes, whose sessions know nothing of what the coordinator's is set to.
const lockTimeoutStatement = statement(
  'find_lock_timeout_of_nodes',
  `select format('alter database %I set lock_timeout = ${lockTimeoutMs}', current_database()) as "set"`,
)
const copyStatement = statement(
  'copy_table_to_nodes',
  'select create_reference_table($1::regclass)',
)
const spreadStatement = statement(
  'spread_table',
  'select create_distributed_table($1::regclass, $2, colocate_with => $3)',
)
// The table itself is empty where its rows are on the nodes.
const leftoversStatement = statement(
  'list_rows_left_on_coordinator',
  `select logicalrelid::text as "tableName" from pg_dist_partition
   where logicalrelid::text = any ($1) and pg_relation_size(logicalrelid) > 0
   order by logicalrelid::text`,
)
const clearStatement = statement(
  'clear_rows_left_on_coordinator',
  'select truncate_local_data_after_distributing_table($1::regclass)',
)

/**
 * Spreads the tables over the nodes of a cluster, those that are not yet: all in one transaction, whatever is in them.
 * Done again it does nothing.
 * @throws `StartRefusal` where the database is no cluster, or one that has no nodes.
 */
export async function prepareCluster(database: Database): Promise<Preparation> {
  const before = await examineCluster(database)
  if (!before) {
    throw new StartRefusal(
      'The database is no cluster: it has no extension citus. create extension citus, on every node, makes it one; one server needs no preparation.',
    )
  }
  if (!before.isCoordinatorKnown) {
    throw new StartRefusal(
      "The nodes do not know the coordinator: select citus_set_coordinator_host('HOST', PORT) says where it is.",
    )
  }
  if (before.nodes === 0) {
    throw new StartRefusal(
      "The cluster has no nodes: select citus_add_node('HOST', PORT) adds one.",
    )
  }
  const done = await database.transaction(async (connection) => {
    await connection.script(prepareTransaction)
    await connection.query(lockMigrations)
    const timeouts = await connection.query<{ set: string }>(lockTimeoutStatement)
    for (const { set } of timeouts) await connection.script(set)
    // Another one may have done it while the lock was waited for.
    return spreadOver(connection, listUnplaced((await examineCluster(connection)) ?? before))
  })
  const left = await database.query<{ tableName: string }>(leftoversStatement, [
    [...columnOf.keys()],
  ])
  const cleared = left.map(({ tableName }) => tableName)
  await database.transaction(async (connection) => {
    await connection.script(prepareTransaction)
    for (const tableName of cleared) await connection.query(clearStatement, [tableName])
  })
  return { nodes: before.nodes, ...done, cleared }
}

async function spreadOver(connection: Connection, due: readonly string[]) {
  const isDue = (table: string): boolean => due.includes(table)
  // The engine takes no reference to a table that lies otherwise: they come back once all lie where they are to.
  const references = await connection.query<{ drop: string; add: string }>(referencesStatement, [
    due,
  ])
  for (const { drop } of references) await connection.script(drop)
  const copied = placement.copied.filter(isDue)
  for (const table of copied) await connection.query(copyStatement, [table])
  const spreadNow: Required<PlacedTable>[] = []
  for (const { column, tables } of placement.spread) {
    for (const tableName of tables.filter(isDue)) {
      const first = tables[0] === tableName ? 'none' : (tables[0] ?? 'none')
      await connection.query(spreadStatement, [tableName, column, first])
      spreadNow.push({ tableName, column })
    }
  }
  for (const { add } of references) await connection.script(add)
  return { copied, spread: spreadNow, references: references.length }
}
