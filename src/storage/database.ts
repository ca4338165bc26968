import { Problem } from '../errors.ts'

/**
 * A named, prepared statement: its text never changes, values travel beside it. The name is what the
 * server remembers the plan by, so a name belongs to one text only.
 */
export interface Statement {
  readonly name: string
  readonly text: string
}

/** A value that a statement may carry. */
export type SqlValue =
  | string
  | number
  | boolean
  | Date
  | Uint8Array
  | null
  | readonly string[]
  | readonly number[]

/** What a statement runs on: the database itself, or a transaction on it. */
export interface Connection {
  /** The rows that the statement answers. One round trip. */
  query<Row>(statement: Statement, values?: readonly SqlValue[]): Promise<Row[]>
  /** Runs SQL text with several statements: migrations only. */
  script(text: string): Promise<void>
}

export interface Database extends Connection {
  /**
   * Runs the work in one transaction: committed when it resolves, rolled back when it throws. The work
   * may run again from its beginning, where the server undid it for the sake of another transaction.
   * @throws whatever the work throws; `Problem` `unavailable` when the database is away.
   */
  transaction<Result>(work: (connection: Connection) => Promise<Result>): Promise<Result>
  /** What its connections are doing now; null where everybody shares one. */
  readonly load: (() => PoolLoad) | null
  close(): Promise<void>
}

/**
 * The connections of a process, by who may use them: nobody can take those of the others. On one
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

/** Declares a statement. A tag of its own, so that editors and `grep` find every one. */
export const statement = (name: string, text: string): Statement => ({ name, text })

/** The only row of an answer that has one or none. */
export const firstRow = <Row>(rows: readonly Row[]): Row | null => rows[0] ?? null

/** Another transaction held the row for longer than this one was ready to wait. */
export class LockTimeout extends Problem {
  constructor(cause: unknown) {
    super('unavailable', { detail: 'Another request is changing the same thing.', cause })
  }
}
