import type { ActPosition } from '../clients/acts.ts'
import { type Connection, statement } from '../engine/database.ts'

/** Something that was done to a key. */
interface NewKeyAct {
  readonly act: string
  readonly key: string
  /** Null where it was due, and nobody asked. */
  readonly clientId: string | null
  readonly requestId: string | null
}

export interface KeyActRow extends NewKeyAct, ActPosition {}

const insertStatement = statement(
  'insert_key_act',
  'insert into key_act (act, key_reference, client_id, request_id) values ($1, $2, $3, $4)',
)

/** Puts an act on record. */
export const insertKeyAct = async (
  connection: Connection,
  { act, clientId, key, requestId }: NewKeyAct,
): Promise<void> => {
  await connection.query(insertStatement, [act, key, clientId, requestId])
}

// The position keeps the microseconds that a JavaScript date would lose.
const listStatement = statement(
  'list_key_acts',
  `select act_id as "actId", to_char(acted_at at time zone 'UTC',
     'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as "at", act, key_reference as "key",
     client_id as "clientId", request_id as "requestId"
   from key_act
   where (acted_at, act_id) < ($1::timestamptz, $2::uuid)
   order by acted_at desc, act_id desc limit $3`,
)

/** Acts, the newest first. */
export const findKeyActs = (
  connection: Connection,
  after: ActPosition,
  limit: number,
): Promise<KeyActRow[]> => connection.query(listStatement, [after.at, after.actId, limit])
