import { type Connection, statement } from '../engine/database.ts'

/** Something that an operator did. */
export interface NewOperatorAct {
  readonly act: string
  readonly subjectKind: 'product' | 'client'
  /** Names the product or the client. */
  readonly subject: string
  /** What changed, as JSON. Never a secret. */
  readonly details: string
  /** Who did it, and under which request id. */
  readonly clientId: string
  readonly requestId: string
}

/** Where a page of acts ends: newest first. */
export interface ActPosition {
  readonly at: string
  readonly actId: string
}

/** Before all acts. */
export const newestAct: ActPosition = {
  at: 'infinity',
  actId: 'ffffffff-ffff-ffff-ffff-ffffffffffff',
}

export interface OperatorActRow extends NewOperatorAct, ActPosition {}

const insertStatement = statement(
  'insert_operator_act',
  `insert into operator_act (act, subject_kind, subject, details, client_id, request_id)
   values ($1, $2, $3, $4, $5, $6)`,
)

/** Puts an act on record. */
export const insertOperatorAct = async (
  connection: Connection,
  { act, clientId, details, requestId, subject, subjectKind }: NewOperatorAct,
): Promise<void> => {
  const values = [act, subjectKind, subject, details, clientId, requestId]
  await connection.query(insertStatement, values)
}

// The position keeps the microseconds that a JavaScript date would lose.
const listStatement = statement(
  'list_operator_acts',
  `select act_id as "actId", to_char(acted_at at time zone 'UTC',
     'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as "at", act, subject_kind as "subjectKind", subject,
     details, client_id as "clientId", request_id as "requestId"
   from operator_act
   where (acted_at, act_id) < ($1::timestamptz, $2::uuid)
   order by acted_at desc, act_id desc limit $3`,
)

/** Acts, the newest first. */
export const findOperatorActs = (
  connection: Connection,
  after: ActPosition,
  limit: number,
): Promise<OperatorActRow[]> => connection.query(listStatement, [after.at, after.actId, limit])
