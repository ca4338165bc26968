import { setTimeout as sleep } from 'node:timers/promises'
import { DatabaseError } from 'pg'
import { Problem } from '../../domain/problem.ts'
import {
  type Connection,
  type Database,
  LockTimeout,
  type SqlValue,
  type Statement,
} from './database.ts'
import { type Shortage, watchShortage, withoutRoom } from './room.ts'
import {
  compareBackends,
  openSessions,
  readOnly,
  type Session,
  type SessionsOptions,
  UnconfirmedCommit,
} from './sessions.ts'
import { createSharing } from './sharing.ts'

/** Opens a PostgreSQL server, or a cluster with its protocol, through a pool of connections. */
export function openPostgres(
  options: SessionsOptions,
  shortage: Shortage = watchShortage(),
): Database {
  const sessions = openSessions(options)
  async function use<Result>(work: (session: Session) => Promise<Result>): Promise<Result> {
    const session = await answering(sessions.take)
    try {
      return await work(session)
    } catch (error) {
      shortage.note(error instanceof Problem ? error.cause : error)
      throw error
    } finally {
      session.release(!session.isSound)
    }
  }
  const query = <Row>(statement: Statement, values?: readonly SqlValue[]): Promise<Row[]> =>
    persistently(() => use((session) => connectionOn(session).query<Row>(statement, values)))
  const script = (text: string): Promise<void> =>
    use((session) => connectionOn(session).script(text))
  return {
    query,
    isCluster: sessions.isCluster,
    ...createSharing(query, () => !sessions.isCluster()),
    script,
    requireRoom: () => shortage.requireRoom({ script }),
    transaction: (work) => persistently(() => use((session) => inTransaction(session, work))),
    isShared: true,
    load: sessions.load,
    close: sessions.close,
  }
}

/**
 * Whether two sessions of this address share one backend, as behind a pooler in transaction or
 * statement mode. Settings, prepared statements and locks of a session then soon belong to another
 * one.
 * @throws `Problem` `unavailable` if the database does not answer.
 */
export const sharesBackends = (connectionString: string): Promise<boolean> =>
  answering(() => compareBackends(connectionString))

const connectionOn = (session: Session): Connection => ({
  query: <Row>({ name, text }: Statement, values: readonly SqlValue[] = []) =>
    answering(async () => (await session.ask({ name, text, values: [...values] })).rows as Row[]),
  script: (text) => answering(() => session.script(text)),
})

async function inTransaction<Result>(
  session: Session,
  work: (connection: Connection) => Promise<Result>,
): Promise<Result> {
  try {
    await answering(() => session.ask({ text: 'begin' }))
    const result = await work(connectionOn(session))
    await answering(() => session.ask({ text: 'commit' }))
    return result
  } catch (error) {
    // The server rolls back a transaction whose connection is closed.
    if (session.isSound) await session.ask({ text: 'rollback' }).catch(() => undefined)
    throw error
  }
}

const attemptsMax = 3
const pauseMaxMs = 50

/**
 * Runs work again from its beginning if the server rolled it back because of other transactions.
 * Locks are taken in one order, so this is rare; a distributed engine does it unpredictably.
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

/** Passes on errors of the server; a missing answer is `unavailable`. */
async function answering<Result>(ask: () => Promise<Result>): Promise<Result> {
  try {
    return await ask()
  } catch (error) {
    if (error instanceof DatabaseError) {
      const { code = '', severity } = error
      if (code === lockNotAvailable) throw new LockTimeout(error)
      if (severity !== 'FATAL' && !serverAway.test(code)) throw error
    }
    const short = withoutRoom(error)
    if (short !== error) throw short
    const detail =
      error instanceof UnconfirmedCommit
        ? 'The database executed the statement, but did not confirm that the change is durable.'
        : 'The database does not answer.'
    throw new Problem('unavailable', { detail, cause: error })
  }
}

const lockNotAvailable = '55P03'

/**
 * `serialization_failure` and `deadlock_detected`: everything was rolled back (PostgreSQL manual,
 * 13.5). Also the refusal of a server that has become read-only: another server may have taken
 * over.
 */
const undone: ReadonlySet<string | undefined> = new Set(['40001', '40P01', readOnly])

/**
 * Classes of SQLSTATE for which the server, not the statement, is at fault: 08 connection, 53
 * resources, 57 operator intervention, 40 transaction rolled back (PostgreSQL manual, appendix A);
 * and a read-only server. FATAL means that the session ended or was refused.
 */
const serverAway = new RegExp(`^(?:08|53|57|40|${readOnly})`)
