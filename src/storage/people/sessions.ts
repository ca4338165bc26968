import { type Connection, firstRow } from '../engine/database.ts'
import { loadStatements } from '../engine/statements.ts'

const declare = loadStatements(import.meta.url)

/** A new session. */
interface NewSession {
  readonly secretHash: Uint8Array
  readonly signInHash: Uint8Array
  readonly personId: string
  readonly roles: readonly string[]
  readonly authenticatedAt: Date
}

const insert = declare<NewSession, { sessionId: string }>('insert_console_session')

/**
 * Begins a session.
 * @returns its id; null if its sign-in has already begun one.
 */
export const insertSession = async (
  connection: Connection,
  session: NewSession,
): Promise<string | null> => firstRow(await insert(connection, session))?.sessionId ?? null

/** An open session with its person. */
export interface SessionRow {
  readonly sessionId: string
  readonly personId: string
  readonly issuer: string
  readonly subject: string
  readonly name: string
  readonly roles: readonly string[]
  readonly authenticatedAt: Date
  readonly startedAt: Date
  readonly seenAt: Date
  /** The sealed notice that is shown once; null without a notice. */
  readonly notice: Uint8Array | null
  /** Whether the last recorded use is old enough to record another one. */
  readonly isToBeSeen: boolean
}

const selectSession = declare<{ secretHash: Uint8Array }, SessionRow>('find_console_session')

/** Returns the open session of a cookie, by the hash of its secret. */
export const findSession = async (
  connection: Connection,
  secretHash: Uint8Array,
): Promise<SessionRow | null> => firstRow(await selectSession(connection, { secretHash }))

const updateSeen = declare<{ secretHash: Uint8Array }>('see_console_session')

/** Records that a session is used now. An ended session stays ended. */
export async function seeSession(connection: Connection, secretHash: Uint8Array): Promise<void> {
  await updateSeen(connection, { secretHash })
}

interface SessionNotice {
  readonly secretHash: Uint8Array
  readonly notice: Uint8Array
}

const updateNotice = declare<SessionNotice>('keep_console_notice')

/**
 * Stores what the next page of a session shows, in place of an earlier notice. A session that is
 * over by time keeps it for the next sign-in.
 */
export async function storeSessionNotice(
  connection: Connection,
  secretHash: Uint8Array,
  notice: Uint8Array,
): Promise<void> {
  await updateNotice(connection, { secretHash, notice })
}

const selectNotice = declare<
  { secretHash: Uint8Array; personId: string },
  { notice: Uint8Array | null }
>('find_console_notice')

/** Returns the notice of a person's session that is open, or over by time; null without one. */
export const findSessionNotice = async (
  connection: Connection,
  secretHash: Uint8Array,
  personId: string,
): Promise<Uint8Array | null> =>
  firstRow(await selectNotice(connection, { secretHash, personId }))?.notice ?? null

const deleteNotice = declare<SessionNotice>('take_console_notice')

/**
 * Deletes a notice.
 * @returns whether it existed: of several requests at once, one gets true.
 */
export const consumeSessionNotice = async (
  connection: Connection,
  secretHash: Uint8Array,
  notice: Uint8Array,
): Promise<boolean> => (await deleteNotice(connection, { secretHash, notice })).length === 1

const selectOpenSessions = declare<{ personId: string }, SessionRow>('list_console_sessions')

/** Lists the open sessions of a person, newest first, at most 100. */
export const listOpenSessions = async (
  connection: Connection,
  personId: string,
): Promise<SessionRow[]> => {
  const rows = await selectOpenSessions(connection, { personId })
  return rows.sort((one, other) => other.startedAt.getTime() - one.startedAt.getTime())
}

const updateEnded = declare<{ secretHash: Uint8Array }, { personId: string }>('end_console_session')

/**
 * Ends one session.
 * @returns the id of its person; null if it had already ended.
 */
export const endSession = async (
  connection: Connection,
  secretHash: Uint8Array,
): Promise<string | null> =>
  firstRow(await updateEnded(connection, { secretHash }))?.personId ?? null

const updateAllEnded = declare<{ personId: string }>('end_console_sessions')

/**
 * Ends every session of a person.
 * @returns their number.
 */
export const endSessions = async (connection: Connection, personId: string): Promise<number> =>
  (await updateAllEnded(connection, { personId })).length

const deleteOldSessions = declare<{ limit: number }>('prune_console_sessions')

/**
 * Deletes at most `limit` sessions that ended long ago.
 * @returns their number.
 */
export const expireSessions = async (connection: Connection, limit: number): Promise<number> =>
  (await deleteOldSessions(connection, { limit })).length
