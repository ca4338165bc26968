import { Problem } from '../../domain/problem.ts'

/**
 * A named, prepared statement: its text never changes, and values are sent separately. The server
 * stores the plan under the name, so a name belongs to one text only.
 */
export interface Statement {
  readonly name: string
  readonly text: string
}

export type SqlScalar = string | number | boolean | Date | Uint8Array | null

/** A value of a statement's parameter. */
export type SqlValue = SqlScalar | readonly SqlScalar[]

/** A statement for one caller, and an equivalent one for several callers at once. */
export interface SharedStatement {
  readonly one: Statement
  /**
   * Takes a list of each value; returns a row for each caller with a result, with its `ordinal`
   * from one.
   */
  readonly several: Statement
  /**
   * Whether a caller without a row has no result. If false, the change of such a caller runs again
   * alone.
   */
  readonly isRead: boolean
}

/** The values of a key, with the types of its columns. */
type RowKey = readonly SqlScalar[]

/** Runs statements: the database itself, or a transaction. */
export interface Connection {
  /** Returns the rows of a statement, in one round trip. */
  query<Row>(statement: Statement, values?: readonly SqlValue[]): Promise<Row[]>
  /** Runs SQL text with several statements: migrations only. */
  script(text: string): Promise<void>
}

export interface Database extends Connection {
  /**
   * Returns the row of a key, or null, without a transaction and without a lock. Reads in one turn
   * of the event loop share a round trip, except on a cluster.
   */
  readRow<Row>(read: SharedStatement, key: RowKey): Promise<Row | null>
  /**
   * Changes the data of one subject in one statement, without a transaction: all or nothing.
   * Changes of several subjects in one turn of the event loop share a statement, and so a commit.
   * @returns a row if it was done, otherwise null.
   */
  change<Row>(
    change: SharedStatement,
    subject: string,
    values: readonly SqlScalar[],
  ): Promise<Row | null>
  /**
   * Runs the work in one transaction: committed if it resolves, rolled back if it throws. If the
   * server rolls it back because of another transaction, the work runs again from its beginning.
   * @throws any error of the work; `Problem` `unavailable` during an outage of the database.
   */
  transaction<Result>(work: (connection: Connection) => Promise<Result>): Promise<Result>
  /**
   * Whether the rows are distributed over nodes. Lookups then use the distribution column first.
   */
  isCluster(): boolean
  /**
   * Resolves if the database has room for changes, as far as is known.
   * @throws `Problem` `unavailable` after a change failed for lack of room, until one would
   *   succeed.
   */
  requireRoom(): Promise<void>
  /** Whether other processes may use it, too. An embedded database belongs to one process. */
  readonly isShared: boolean
  /** The load of its connections; null for a single shared connection. */
  readonly load: (() => PoolLoad) | null
  close(): Promise<void>
}

/**
 * The connections of a process, divided by user so that none can take another's. With a single
 * connection, all three are the same database.
 */
export interface Databases {
  /** For calls of client systems. */
  readonly clients: Database
  /** For requests of card networks. */
  readonly networks: Database
  /** For background work (sweeps, delivery, keys) and requests of operators. */
  readonly background: Database
  close(): Promise<void>
}

export const poolNames = ['clients', 'networks', 'background'] as const
export type PoolName = (typeof poolNames)[number]

/** Uses one database for all three. */
export const undivided = (database: Database): Databases => ({
  clients: database,
  networks: database,
  background: database,
  close: () => database.close(),
})

/** The number of connections in a pool, and of the callers that wait for one. */
export interface PoolLoad {
  readonly busy: number
  readonly idle: number
  readonly waiting: number
}

/**
 * A statement is planned once, for any values, and is written so that no plan depends on them. By
 * default, a server plans a statement again for each call while it considers that cheaper: for a
 * long one that costs more than its execution, and relies on an estimate.
 */
export const planning = ['plan_cache_mode', 'force_generic_plan'] as const

/**
 * A page at random costs little more than the next one, as on a solid-state disk: so no plan reads
 * all rows of a card and sorts them, instead of a page in the order of an index.
 */
export const randomPageCost = 1.1

/** How long a statement waits for a row that another transaction has locked. */
export const lockTimeoutMs = 2_000

/** Declares a statement. A separate tag, so that editors and `grep` find every one. */
export const statement = (name: string, text: string): Statement => ({ name, text })

/** Returns the only row of a result with at most one. */
export const firstRow = <Row>(rows: readonly Row[]): Row | null => rows[0] ?? null

/** Raised by a function that undoes an act because a condition failed halfway. */
const undoneCode = 'PF001'

/** Whether an act failed halfway and was undone completely. */
export const isUndone = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === undoneCode

/** Another transaction held a lock for longer than the timeout. */
export class LockTimeout extends Problem {
  constructor(cause: unknown) {
    super('unavailable', { detail: 'Another request is changing the same resource.', cause })
  }
}
