import { type Connection, firstRow } from '../engine/database.ts'
import { loadStatements } from '../engine/statements.ts'

/** A person who has signed in, as of the last sign-in. */
export interface PersonRow {
  readonly personId: string
  readonly issuer: string
  readonly subject: string
  readonly name: string
  readonly roles: readonly string[]
  readonly firstSignedInAt: Date
  readonly lastSignedInAt: Date
  /** The number of open sessions. */
  readonly openSessions: number
}

const declare = loadStatements(import.meta.url)

type SignedInPerson = Pick<PersonRow, 'personId' | 'issuer' | 'subject' | 'name' | 'roles'>

const upsert = declare<SignedInPerson>('upsert_person')

/** Records that a person signed in. */
export async function upsertPerson(connection: Connection, person: SignedInPerson): Promise<void> {
  await upsert(connection, person)
}

const selectPerson = declare<{ personId: string }, PersonRow>('find_person')

export const findPerson = async (
  connection: Connection,
  personId: string,
): Promise<PersonRow | null> => firstRow(await selectPerson(connection, { personId }))

const selectPeople = declare<{ after: string; limit: number }, PersonRow>('list_people')

/** Lists people after one of them, by id. */
export const listPersonRows = (
  connection: Connection,
  after: string,
  limit: number,
): Promise<PersonRow[]> => selectPeople(connection, { after, limit })
