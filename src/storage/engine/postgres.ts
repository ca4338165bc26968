import { setTimeout as sleep } from 'node:timers/promises'
import { DatabaseError, Pool, type PoolClient, types } from 'pg'
import { Problem } from '../../domain/problem.ts'
import {
  type Connection,
  type Database,
  LockTimeout,
  planning,
  type SqlValue,
  type Statement,
} from './database.ts'
import { createRowReads } from './row-reads.ts'

interface PostgresOptions {
  readonly connectionString: string
  /** Connections that this pool may have. */
  readonly poolSize: number
  /** For one statement; 10 seconds unless it is given. */
  readonly statementTimeoutMs?: number
  /** Called with what breaks on a connection that nobody is using. */
  onIdleError(error: Error): void
}

const dateOid = 1082

/** Dates stay `YYYY-MM-DD`: they have no time zone to be moved by. */
const parsers = {
  getTypeParser: (oid: number, format?: 'text' | 'binary') =>
    oid === dateOid ? (text: string) => text : types.getTypeParser(oid, format as 'text'),
}

/** A PostgreSQL server, or a cluster that speaks its protocol, behind a pool of connections. */
export function openPostgres(options: PostgresOptions): Database {
  const pool = new Pool({
    connectionString: options.connectionString,
    max: options.poolSize,
    connectionTimeoutMillis: 5_000,
    idleTimeoutMillis: 30_000,
    statement_timeout: options.statementTimeoutMs ?? 10_000,
    lock_timeout: 2_000,
    idle_in_transaction_session_timeout: 15_000,
    types: parsers as never,
    onConnect: async (client) => {
      await client.query(`set ${planning.join(' = ')}`)
    },
  })
  pool.on('error', options.onIdleError)
  const query = <Row>(statement: Statement, values?: readonly SqlValue[]): Promise<Row[]> =>
    persistently(() => answering(() => run<Row>(pool, statement, values)))
  return {
    query,
    readRow: createRowReads(query),
    script: (text) => answering(() => pool.query(text).then(() => undefined)),
    transaction: (work) => persistently(() => inTransaction(pool, work)),
    load: () => ({
      busy: pool.totalCount - pool.idleCount,
      idle: pool.idleCount,
      waiting: pool.waitingCount,
    }),
    close: () => pool.end(),
  }
}

async function run<Row>(
  target: Pool | PoolClient,
  { name, text }: Statement,
  values: readonly SqlValue[] = [],
): Promise<Row[]> {
  return (await target.query({ name, text, values: [...values] })).rows as Row[]
}

async function inTransaction<Result>(
  pool: Pool,
  work: (connection: Connection) => Promise<Result>,
): Promise<Result> {
  const client = await answering(() => pool.connect())
  // A break shows in the statement it meets. Unheard, it would end the process.
  client.on('error', unheard)
  const connection: Connection = {
    query: (statement, values) => answering(() => run(client, statement, values)),
    script: (text) => answering(() => client.query(text).then(() => undefined)),
  }
  try {
    await answering(() => client.query('begin'))
    const result = await work(connection)
    await answering(() => client.query('commit'))
    client.release()
    return result
  } catch (error) {
    await rollBack(client)
    throw error
  } finally {
    // The pool listens again.
    client.off('error', unheard)
  }
}

const unheard = (): void => undefined

/** A connection that cannot roll back is thrown away: the server then rolls back by itself. */
async function rollBack(client: PoolClient): Promise<void> {
  try {
    await client.query('rollback')
    client.release()
  } catch (error) {
    client.release(error as Error)
  }
}

const attemptsMax = 3
const pauseMaxMs = 50

/**
 * Does again, from its beginning, what the server undid for the sake of others. Locks are taken in one
 * order, so that this is rare; a distributed engine does it where nobody could know beforehand.
 */
async function persistently<Result>(attempt: () => Promise<Result>): Promise<Result> {
  for (let attempts = 1; ; attempts += 1) {
    try {
      return await attempt()
    } catch (error) {
      const cause = error instanceof Problem ? error.cause : null
      const isUndone = cause instanceof DatabaseError && undone.has(cause.code)
      if (!isUndone || attempts === attemptsMax) throw error
      await sleep(Math.random() * pauseMaxMs)
    }
  }
}

/** What the server answers is passed on; no answer from it is `unavailable`. */
async function answering<Result>(ask: () => Promise<Result>): Promise<Result> {
  try {
    return await ask()
  } catch (error) {
    if (error instanceof DatabaseError) {
      const { code = '', severity } = error
      if (code === lockNotAvailable) throw new LockTimeout(error)
      if (severity !== 'FATAL' && !serverAway.test(code)) throw error
    }
    throw new Problem('unavailable', { detail: 'The database does not answer.', cause: error })
  }
}

const lockNotAvailable = '55P03'

/** `serialization_failure` and `deadlock_detected`: all of it was rolled back (PostgreSQL manual, 13.5). */
const undone: ReadonlySet<string | undefined> = new Set(['40001', '40P01'])

/**
 * Classes of SQLSTATE that say that the server, not the statement, is at fault: 08 connection, 53
 * resources, 57 operator intervention, 40 transaction rolled back (PostgreSQL manual, appendix A).
 * What is FATAL ended the session, or refused to begin one.
 */
const serverAway = /^(08|53|57|40)/
