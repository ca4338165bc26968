import { type Connection, firstRow, onKey, statement } from '../engine/database.ts'
import { isOpenText } from './people.ts'

/** A session that begins. */
interface NewSession {
  readonly secretHash: Uint8Array
  readonly signInHash: Uint8Array
  readonly personId: string
  readonly roles: readonly string[]
  readonly authenticatedAt: Date
}

const insertStatement = statement(
  'insert_console_session',
  `insert into console_session (secret_hash, sign_in_hash, person_id, roles, authenticated_at)
   values ($1, $2, $3, $4, $5)
   on conflict (sign_in_hash) do nothing
   returning session_id::text as "sessionId"`,
)

/** Begins a session. @returns its id; null where the sign-in that it comes from has made one before. */
export const insertSession = async (
  connection: Connection,
  { authenticatedAt, personId, roles, secretHash, signInHash }: NewSession,
): Promise<string | null> => {
  const values = [secretHash, signInHash, personId, roles, authenticatedAt]
  const row = firstRow(await connection.query<{ sessionId: string }>(insertStatement, values))
  return row?.sessionId ?? null
}

/** An open session, and whose it is. */
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
  /** What is shown once, sealed; null where there is nothing to show. */
  readonly notice: Uint8Array | null
  /** Whether it is long enough since it was last put on record that it is used. */
  readonly isToBeSeen: boolean
}

const columns = `session_id::text as "sessionId", console_session.person_id as "personId", issuer, subject,
  display_name as "name", console_session.roles, authenticated_at as "authenticatedAt",
  started_at as "startedAt", seen_at as "seenAt", notice,
  seen_at < clock_timestamp() - interval '20 seconds' as "isToBeSeen"`

// Looked up session by session, whatever the planner takes the tables for.
const withPerson = `cross join lateral (
     select issuer, subject, display_name from person
     where person.person_id = console_session.person_id limit 1
   ) as person`

const findStatement = statement(
  'find_console_session',
  `select ${columns} from console_session ${withPerson}
   where secret_hash = $1 and ${isOpenText}`,
)

/** The open session of a cookie, by the hash of its secret. */
export const findSession = async (
  connection: Connection,
  secretHash: Uint8Array,
): Promise<SessionRow | null> =>
  firstRow(await connection.query<SessionRow>(findStatement, [secretHash]))

const seeStatement = statement(
  'see_console_session',
  `update console_session set seen_at = clock_timestamp() where secret_hash = $1 and ${isOpenText}`,
)

/** Puts on record that a session is used now. What has ended meanwhile stays ended. */
export async function seeSession(connection: Connection, secretHash: Uint8Array): Promise<void> {
  await connection.query(seeStatement, [secretHash])
}

const keepNoticeStatement = statement(
  'keep_console_notice',
  `update console_session set notice = $2 where secret_hash = $1 and ${isOpenText}`,
)

/** Keeps what the next page of an open session shows, in place of what was kept before. */
export async function keepSessionNotice(
  connection: Connection,
  secretHash: Uint8Array,
  notice: Uint8Array,
): Promise<void> {
  await connection.query(keepNoticeStatement, [secretHash, notice])
}

const takeNoticeStatement = statement(
  'take_console_notice',
  `update console_session set notice = null where secret_hash = $1 and notice = $2
   returning 1 as "one"`,
)

/** Takes a notice away. @returns whether it was there: of several requests at once, one takes it. */
export const takeSessionNotice = async (
  connection: Connection,
  secretHash: Uint8Array,
  notice: Uint8Array,
): Promise<boolean> =>
  (await connection.query(takeNoticeStatement, [secretHash, notice])).length === 1

const listStatement = statement(
  'list_console_sessions',
  `select ${columns} from console_session ${withPerson}
   where console_session.person_id = $1 and ${isOpenText} limit 100`,
)

/** The open sessions of a person, the newest first; 100 at most. */
export const findOpenSessions = async (
  connection: Connection,
  personId: string,
): Promise<SessionRow[]> => {
  const rows = await connection.query<SessionRow>(listStatement, [personId])
  return rows.sort((one, other) => other.startedAt.getTime() - one.startedAt.getTime())
}

const endStatement = statement(
  'end_console_session',
  `update console_session set ended_at = clock_timestamp() where secret_hash = $1 and ${isOpenText}
   returning person_id as "personId"`,
)

/** Ends one session. @returns whose it was; null where it was over. */
export const endSession = async (
  connection: Connection,
  secretHash: Uint8Array,
): Promise<string | null> => {
  const row = firstRow(await connection.query<{ personId: string }>(endStatement, [secretHash]))
  return row?.personId ?? null
}

const endAllStatement = statement(
  'end_console_sessions',
  `update console_session set ended_at = clock_timestamp() where person_id = $1 and ${isOpenText}
   returning session_id`,
)

/** Ends every session of a person. @returns how many. */
export const endSessions = async (connection: Connection, personId: string): Promise<number> =>
  (await connection.query(endAllStatement, [personId])).length

const pruneStatement = statement(
  'prune_console_sessions',
  `with over as materialized (
     select secret_hash from console_session
     where started_at < (select clock_timestamp() - interval '1 day') order by started_at limit $1
   )
   delete from console_session using over where ${onKey('console_session', 'over', ['secret_hash'])}
   returning 1 as "one"`,
)

/** Forgets at most `limit` sessions that have long been over. @returns how many they were. */
export const pruneSessions = async (connection: Connection, limit: number): Promise<number> =>
  (await connection.query(pruneStatement, [limit])).length
