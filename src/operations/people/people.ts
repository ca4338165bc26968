import { hash, randomBytes } from 'node:crypto'
import type { Requester } from '../../domain/client.ts'
import { isRole, type Person } from '../../domain/person.ts'
import { Problem } from '../../domain/problem.ts'
import { insertAct } from '../../storage/acts/acts.ts'
import type { Connection, Database } from '../../storage/engine/database.ts'
import {
  findPerson,
  listPersonRows,
  type PersonRow,
  upsertPerson,
} from '../../storage/people/people.ts'
import {
  consumeSessionNotice,
  endSession,
  endSessions,
  findSession,
  findSessionNotice,
  insertSession,
  listOpenSessions,
  type SessionRow,
  seeSession,
  storeSessionNotice,
} from '../../storage/people/sessions.ts'

/** The dependencies of the operations on people. */
export interface OperatorContext {
  readonly database: Database
}

/** The session of a person in one browser. */
export interface ConsoleSession {
  readonly sessionId: string
  readonly person: Person
  readonly startedAt: Date
  /** The notice that the next page shows once, sealed by the caller; null without a notice. */
  readonly notice: Uint8Array | null
}

const hashSecret = (secret: string): Uint8Array => hash('sha256', secret, 'buffer')

/** The parameters of a sign-in, and the session that it replaces. */
interface SignInCircumstances {
  /** Begins one session, however often it is sent. */
  readonly signInSecret: string
  /** The secret of the session that was open in the same browser; null without one. */
  readonly formerSecret: string | null
  readonly requestId: string
}

/**
 * Begins the session of a person after a sign-in, with a new secret.
 * @returns the secret of the session's cookie; null if the sign-in has already begun a session
 */
export async function beginSession(
  { database }: OperatorContext,
  person: Person,
  { formerSecret, requestId, signInSecret }: SignInCircumstances,
): Promise<string | null> {
  const secret = randomBytes(32).toString('base64url')
  return database.transaction(async (connection) => {
    await upsertPerson(connection, person)
    const sessionId = await insertSession(connection, {
      ...person,
      secretHash: hashSecret(secret),
      signInHash: hashSecret(signInSecret),
    })
    if (sessionId === null) return null
    if (formerSecret !== null) await endSession(connection, hashSecret(formerSecret))
    await recordPersonAct(connection, person.personId, requestId, {
      act: 'signed_in',
      details: { session: sessionId, roles: person.roles },
    })
    return secret
  })
}

/** Records that a person was refused because they have no role. */
export async function recordMissingRole(
  { database }: OperatorContext,
  { issuer, personId, subject }: Person,
  requestId: string,
): Promise<void> {
  await recordPersonAct(database, personId, requestId, {
    act: 'sign_in_failed',
    details: { reason: 'no_role', issuer, subject },
  })
}

/** The minimum time between two entries about failed sign-ins of one process. */
const failureEveryMs = 60_000

/**
 * Records failed sign-ins of unknown people. Because anyone can cause them at any rate, one failure
 * gets an entry, and the next entry has the number of failures since.
 */
export function failedSignInRecorder({ database }: OperatorContext) {
  let recordedAtMs = Number.NEGATIVE_INFINITY
  let count = 0
  return async (reason: 'not_proved' | 'refused_by_issuer'): Promise<void> => {
    count += 1
    if (performance.now() - recordedAtMs < failureEveryMs) return
    const details = JSON.stringify({ reason, count })
    recordedAtMs = performance.now()
    count = 0
    await insertAct(database, {
      act: 'sign_in_failed',
      subjectKind: 'person',
      subject: 'unknown',
      details,
      clientId: null,
      requestId: null,
    })
  }
}

/**
 * Returns the open session of a cookie, or null.
 * @param isVisit whether a person acts: automatic requests of a page do not extend a session.
 */
export async function findConsoleSession(
  { database }: OperatorContext,
  secret: string,
  isVisit: boolean,
): Promise<ConsoleSession | null> {
  const secretHash = hashSecret(secret)
  const row = await findSession(database, secretHash)
  if (!row) return null
  if (isVisit && row.isToBeSeen) await seeSession(database, secretHash)
  const { authenticatedAt, issuer, name, notice, personId, roles, sessionId, startedAt, subject } =
    row
  return {
    sessionId,
    startedAt,
    notice,
    person: {
      personId,
      issuer,
      subject,
      name,
      authenticatedAt,
      roles: roles.filter(isRole),
    },
  }
}

/**
 * Stores the notice that the next page of a session shows once. It is sealed: the database cannot
 * read it. Of a session that is over by time, the page after the next sign-in shows it.
 */
export const storeNotice = (
  { database }: OperatorContext,
  secret: string,
  notice: Uint8Array,
): Promise<void> => storeSessionNotice(database, hashSecret(secret), notice)

/** Returns the notice of a person's session that is open, or over by time; null without one. */
export const findNotice = (
  { database }: OperatorContext,
  secret: string,
  personId: string,
): Promise<Uint8Array | null> => findSessionNotice(database, hashSecret(secret), personId)

/**
 * Removes the notice of a session, which has been shown.
 * @returns false if another request removed it.
 */
export const consumeNotice = (
  { database }: OperatorContext,
  secret: string,
  notice: Uint8Array,
): Promise<boolean> => consumeSessionNotice(database, hashSecret(secret), notice)

/** Ends the session of a cookie, if it is open. */
export async function signOut(
  { database }: OperatorContext,
  secret: string,
  requestId: string,
): Promise<void> {
  await database.transaction(async (connection) => {
    const personId = await endSession(connection, hashSecret(secret))
    if (personId === null) return
    await recordPersonAct(connection, personId, requestId, { act: 'signed_out', details: {} })
  })
}

/** Lists the people who have signed in after this id, by id. */
export const listPeople = (
  { database }: OperatorContext,
  afterPersonId: string,
  limit: number,
): Promise<PersonRow[]> => listPersonRows(database, afterPersonId, limit)

/** An open session of a person. */
type OpenSession = Pick<
  SessionRow,
  'sessionId' | 'roles' | 'authenticatedAt' | 'startedAt' | 'seenAt'
>

/** Returns a person who has signed in, with the open sessions. @throws `Problem` `not_found` */
export async function findPersonRecord(
  { database }: OperatorContext,
  personId: string,
): Promise<PersonRow & { readonly sessions: readonly OpenSession[] }> {
  const person = await findPerson(database, personId)
  if (!person) throw new Problem('not_found')
  return { ...person, sessions: await listOpenSessions(database, personId) }
}

/**
 * Ends every session of a person.
 * @returns the number of sessions
 * @throws `Problem` `not_found`
 */
export async function endPersonSessions(
  { database }: OperatorContext,
  { clientId, requestId }: Requester,
  personId: string,
): Promise<number> {
  if (!(await findPerson(database, personId))) throw new Problem('not_found')
  return database.transaction(async (connection) => {
    const ended = await endSessions(connection, personId)
    await insertAct(connection, {
      act: 'sessions_ended',
      subjectKind: 'person',
      subject: personId,
      details: JSON.stringify({ sessions: ended }),
      clientId,
      requestId,
    })
    return ended
  })
}

async function recordPersonAct(
  connection: Connection,
  personId: string,
  requestId: string,
  { act, details }: { readonly act: string; readonly details: object },
): Promise<void> {
  await insertAct(connection, {
    act,
    subjectKind: 'person',
    subject: personId,
    details: JSON.stringify(details),
    clientId: personId,
    requestId,
  })
}
