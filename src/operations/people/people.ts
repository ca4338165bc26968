import { hash, randomBytes } from 'node:crypto'
import { isRole, type Person } from '../../domain/person.ts'
import { Problem } from '../../domain/problem.ts'
import { insertAct } from '../../storage/audit/acts.ts'
import type { Database } from '../../storage/engine/database.ts'
import { upsertPerson } from '../../storage/people/people.ts'
import {
  endSession,
  findSession,
  insertSession,
  type SessionRow,
  seeSession,
} from '../../storage/people/sessions.ts'

/** What the operations on people work with. */
export interface PeopleOperations {
  readonly database: Database
}

/** A person who is signed in, in one browser. */
export interface ConsoleSession {
  readonly sessionId: string
  readonly person: Person
  readonly startedAt: Date
}

/** How long a session lasts in all, in seconds; the database holds sessions to it, and to 15 idle minutes. */
export const sessionSeconds = 8 * 3_600

const secretHashOf = (secret: string): Uint8Array => hash('sha256', secret, 'buffer')

/**
 * Begins a session of somebody who has just signed in, under a secret that nobody had before.
 * @param signInSecret what the sign-in was bound to: it makes one session, however often it is sent.
 * @returns the secret of the session's cookie
 * @throws `Problem` `unauthenticated` where the sign-in has made a session before
 */
export async function beginSession(
  { database }: PeopleOperations,
  person: Person,
  signInSecret: string,
  requestId: string,
): Promise<string> {
  const secret = randomBytes(32).toString('base64url')
  const { personId } = person
  await database.transaction(async (connection) => {
    await upsertPerson(connection, person)
    const sessionId = await insertSession(connection, {
      ...person,
      secretHash: secretHashOf(secret),
      signInHash: secretHashOf(signInSecret),
    })
    if (sessionId === null) throw new Problem('unauthenticated')
    await recordPersonAct(connection, personId, requestId, {
      act: 'signed_in',
      details: { session: sessionId, roles: person.roles },
    })
  })
  return secret
}

/** Puts on record that somebody tried to sign in and was not let in, and why; who it was, where that is known. */
export async function recordFailedSignIn(
  { database }: PeopleOperations,
  personId: string | null,
  reason: 'no_role' | 'refused_by_issuer' | 'not_proved',
  requestId: string,
): Promise<void> {
  await insertAct(database, {
    ...{ act: 'sign_in_failed', subjectKind: 'person', subject: personId ?? 'unknown' },
    details: JSON.stringify({ reason }),
    ...{ clientId: personId, requestId: personId === null ? null : requestId },
  })
}

/**
 * The open session of a cookie, or null.
 * @param isVisit whether somebody does something: a page that asks by itself keeps no session open.
 */
export async function findConsoleSession(
  { database }: PeopleOperations,
  secret: string,
  isVisit: boolean,
): Promise<ConsoleSession | null> {
  const secretHash = secretHashOf(secret)
  const row = await findSession(database, secretHash)
  if (!row) return null
  if (isVisit && row.isToBeSeen) await seeSession(database, secretHash)
  return { sessionId: row.sessionId, startedAt: row.startedAt, person: personOf(row) }
}

const personOf = ({
  authenticatedAt,
  issuer,
  name,
  personId,
  roles,
  subject,
}: SessionRow): Person => ({
  ...{ personId, issuer, subject, name, authenticatedAt },
  roles: roles.filter(isRole),
})

/** Ends the session of a cookie, where it is open. */
export async function signOut(
  { database }: PeopleOperations,
  secret: string,
  requestId: string,
): Promise<void> {
  await database.transaction(async (connection) => {
    const personId = await endSession(connection, secretHashOf(secret))
    if (personId === null) return
    await recordPersonAct(connection, personId, requestId, { act: 'signed_out', details: {} })
  })
}

async function recordPersonAct(
  connection: Parameters<typeof insertAct>[0],
  personId: string,
  requestId: string,
  { act, details }: { readonly act: string; readonly details: object },
): Promise<void> {
  await insertAct(connection, {
    ...{ act, subjectKind: 'person', subject: personId, details: JSON.stringify(details) },
    ...{ clientId: personId, requestId },
  })
}
