import { Problem } from '../../domain/problem.ts'

/**
 * A named, prepared statement: its text never changes, values are sent beside it. The name is what
 * the server remembers the plan by, so a name belongs to one text only.
 */
export interface Statement {
  readonly name: string
  readonly text: string
}

export type SqlScalar = string | number | boolean | Date | Uint8Array | null

/** A value that a statement may carry. */
export type SqlValue = SqlScalar | readonly SqlScalar[]

/** A statement for one who asks, and one that does the same for several at once. */
export interface SharedStatement {
  readonly one: Statement
  /**
   * Takes a list of each value; answers a row for each who has one, with its `ordinal`, counted
   * from one.
   */
  readonly several: Statement
  /** Of whom `several` answers no row, there is none for a read; a change is done for him alone. */
  readonly isRead: boolean
}

/** The parts of a key, of its columns' types. */
type RowKey = readonly SqlScalar[]

/** What a statement runs on: the database itself, or a transaction on it. */
export interface Connection {
  /** The rows that the statement answers. One round trip. */
  query<Row>(statement: Statement, values?: readonly SqlValue[]): Promise<Row[]>
  /** Runs SQL text with several statements: migrations only. */
  script(text: string): Promise<void>
}

export interface Database extends Connection {
  /**
   * The row of a key, or null, outside of any transaction and without a lock. Reads of one turn of
   * the event loop share a round trip, but for those on a cluster.
   */
  readRow<Row>(read: SharedStatement, key: RowKey): Promise<Row | null>
  /**
   * Changes what one subject has, outside of any transaction, as one statement: all of it is done,
   * or nothing. Changes of several subjects that come in one turn of the event loop share a
   * statement, and so a commit.
   * @returns a row where it was done, or null.
   */
  change<Row>(
    change: SharedStatement,
    subject: string,
    values: readonly SqlScalar[],
  ): Promise<Row | null>
  /**
   * Runs the work in one transaction: committed when it resolves, rolled back when it throws. The
   * work may run again from its beginning, where the server undid it for the sake of another
   * transaction.
   * @throws whatever the work throws; `Problem` `unavailable` when the database is away.
   */
  transaction<Result>(work: (connection: Connection) => Promise<Result>): Promise<Result>
  /**
   * Whether its rows are spread over nodes: what is found by one value only then is asked for by
   * that value first.
   */
  isCluster(): boolean
  /**
   * Resolves when it has room for changes, as far as is known.
   * @throws `Problem` `unavailable` once a change has failed for lack of it, until one would not.
   */
  requireRoom(): Promise<void>
  /** What its connections are doing now; null where everybody shares one. */
  readonly load: (() => PoolLoad) | null
  close(): Promise<void>
}

/**
 * The connections of a process, divided by their users so that none can take another's. On a single
 * connection all three are the same database.
 */
export interface Databases {
  /** What client systems call. */
  readonly clients: Database
  /** What card networks ask. */
  readonly networks: Database
  /** What runs by itself (sweeps, delivery, keys), and what operators ask. */
  readonly background: Database
  close(): Promise<void>
}

export const poolNames = ['clients', 'networks', 'background'] as const
export type PoolName = (typeof poolNames)[number]

/** One database for everybody. */
export const undivided = (database: Database): Databases => ({
  clients: database,
  networks: database,
  background: database,
  close: () => database.close(),
})

/** How many connections a pool has, and how many wait for one. */
export interface PoolLoad {
  readonly busy: number
  readonly idle: number
  readonly waiting: number
}

/**
 * A statement is planned once, for any values: each is written so that no plan depends on them.
 * Planned anew for each call, as a server does while it takes that for cheaper, a long one costs
 * more to plan than to run, and its plan rests on a guess.
 */
export const planning = ['plan_cache_mode', 'force_generic_plan'] as const

/** For how long a statement waits for a row that another transaction has locked. */
export const lockTimeoutMs = 2_000

/** Declares a statement. A tag of its own, so that editors and `grep` find every one. */
export const statement = (name: string, text: string): Statement => ({ name, text })

/** The only row of an answer that has one or none. */
export const firstRow = <Row>(rows: readonly Row[]): Row | null => rows[0] ?? null

/** Raised by a function that undoes an act which came to nothing halfway. */
const undoneCode = 'PF001'

/** Whether an act came to nothing halfway, and all of it was undone. */
export const isUndone = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === undoneCode

/** Another transaction kept the row locked for longer than this one was ready to wait. */
export class LockTimeout extends Problem {
  constructor(cause: unknown) {
    super('unavailable', { detail: 'Another request is changing the same resource.', cause })
  }
}
