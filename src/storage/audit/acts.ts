import { type Connection, statement } from '../engine/database.ts'

/** Something that was done to a product, a client system, a network's zone, a key, a process, the audit log or a person; or what was shown of a card. */
export interface NewAct {
  readonly act: string
  readonly subjectKind:
    | 'product'
    | 'client'
    | 'key'
    | 'process'
    | 'setting'
    | 'log'
    | 'person'
    | 'card'
    | 'pan'
    | 'approval'
  /** Names it. */
  readonly subject: string
  /** What changed, as JSON. Never a secret. */
  readonly details: string
  /** Who did it, and under which request id; null where it was due, and nobody asked. */
  readonly clientId: string | null
  readonly requestId: string | null
}

/** Where a page of acts ends: newest first. */
export interface ActPosition {
  readonly at: string
  /** Acts of one instant are told apart by it: an embedded database knows instants by the millisecond. */
  readonly number: number
}

/** Before all acts. */
export const newestAct: ActPosition = {
  at: 'infinity',
  number: Number.MAX_SAFE_INTEGER,
}

/** An act on a key. */
export interface KeyActRow extends NewAct, ActPosition {}

/** An act on what is not a key: somebody did it. */
export interface OperatorActRow extends KeyActRow {
  readonly clientId: string
  readonly requestId: string
}

const insertStatement = statement(
  'insert_audit_act',
  `insert into audit_act (act, subject_kind, subject, details, client_id, request_id)
   values ($1, $2, $3, $4, $5, $6)
   returning act_id as "actId"`,
)

/** Puts an act on record. @returns its id. */
export const insertAct = async (
  connection: Connection,
  { act, clientId, details, requestId, subject, subjectKind }: NewAct,
): Promise<string> => {
  const values = [act, subjectKind, subject, details, clientId, requestId]
  const [row] = await connection.query<{ actId: string }>(insertStatement, values)
  if (!row) throw new Error('The act was not put on record.')
  return row.actId
}

// The position keeps the microseconds that a JavaScript date would lose. Each list has an index of its own.
const listStatement = (name: string, condition: string) =>
  statement(
    name,
    `select number::float8 as "number", to_char(acted_at at time zone 'UTC',
       'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as "at", act, subject_kind as "subjectKind", subject,
       details, client_id as "clientId", request_id as "requestId"
     from audit_act
     where ${condition} and (acted_at, number) < ($1::timestamptz, $2::bigint)
     order by acted_at desc, number desc limit $3`,
  )
const listOperatorActsStatement = listStatement(
  'list_operator_acts',
  `subject_kind <> 'key' and client_id is not null`,
)
const listKeyActsStatement = listStatement('list_key_acts', `subject_kind = 'key'`)

/** What operators did to other things than keys, the newest first. */
export const findOperatorActs = (
  connection: Connection,
  after: ActPosition,
  limit: number,
): Promise<OperatorActRow[]> =>
  connection.query(listOperatorActsStatement, [after.at, after.number, limit])

/** What was done to keys, the newest first. */
export const findKeyActs = (
  connection: Connection,
  after: ActPosition,
  limit: number,
): Promise<KeyActRow[]> => connection.query(listKeyActsStatement, [after.at, after.number, limit])
