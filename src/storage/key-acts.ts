import { type Connection, statement } from './database.ts'

/** Something that was done to a key. */
export interface NewKeyAct {
  readonly act: string
  readonly key: string
  /** Null where it was due, and nobody asked. */
  readonly clientId: string | null
  readonly requestId: string | null
}

export interface KeyActRow extends NewKeyAct {
  readonly at: Date
}

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

const listStatement = statement(
  'list_key_acts',
  `select acted_at as "at", act, key_reference as "key", client_id as "clientId",
     request_id as "requestId"
   from key_act order by acted_at desc, act_id limit $1`,
)

/** The latest acts, the newest first. */
export const listKeyActs = (connection: Connection, limit: number): Promise<KeyActRow[]> =>
  connection.query(listStatement, [limit])
