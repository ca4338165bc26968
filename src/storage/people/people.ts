import { type Connection, firstRow, statement } from '../engine/database.ts'

/** Somebody who has signed in, as the last sign-in said. */
export interface PersonRow {
  readonly personId: string
  readonly issuer: string
  readonly subject: string
  readonly name: string
  readonly roles: readonly string[]
  readonly firstSignedInAt: Date
  readonly lastSignedInAt: Date
  /** Sessions that are neither ended nor over. */
  readonly openSessions: number
}

const upsertStatement = statement(
  'upsert_person',
  `insert into person (person_id, issuer, subject, display_name, roles) values ($1, $2, $3, $4, $5)
   on conflict (person_id) do update
     set display_name = excluded.display_name, roles = excluded.roles, last_signed_in_at = clock_timestamp()`,
)

/** Puts on record that somebody signed in. */
export async function upsertPerson(
  connection: Connection,
  {
    issuer,
    name,
    personId,
    roles,
    subject,
  }: Pick<PersonRow, 'personId' | 'issuer' | 'subject' | 'name' | 'roles'>,
): Promise<void> {
  await connection.query(upsertStatement, [personId, issuer, subject, name, roles])
}

/** Whether a session is neither ended nor over: 15 minutes without a visit, 8 hours in all. */
export const isOpenText = `ended_at is null and seen_at > clock_timestamp() - interval '15 minutes'
  and started_at > clock_timestamp() - interval '8 hours'`

const columns = `person_id as "personId", issuer, subject, display_name as "name", roles,
  first_signed_in_at as "firstSignedInAt", last_signed_in_at as "lastSignedInAt",
  (select count(*)::int from console_session
   where console_session.person_id = person.person_id and ${isOpenText}) as "openSessions"`

const findStatement = statement('find_person', `select ${columns} from person where person_id = $1`)

export const findPerson = async (
  connection: Connection,
  personId: string,
): Promise<PersonRow | null> =>
  firstRow(await connection.query<PersonRow>(findStatement, [personId]))

const listStatement = statement(
  'list_people',
  `select ${columns} from person where person_id > $1 order by person_id limit $2`,
)

/** People by their ids, after one of them. */
export const findPeople = (
  connection: Connection,
  afterPersonId: string,
  limit: number,
): Promise<PersonRow[]> => connection.query(listStatement, [afterPersonId, limit])
