import { type Connection, type Database, firstRow, statement } from '../engine/database.ts'

/** A request that an earlier program remembered under the very text of its key. */
interface RememberedInClear {
  readonly clientId: string
  readonly idempotencyKey: string
  readonly answer: Uint8Array | null
}

const listStatement = statement(
  'list_idempotency_keys_in_clear',
  `select client_id as "clientId", idempotency_key as "idempotencyKey", answer
   from idempotency_record_in_clear limit $1`,
)

export const listKeysInClear = (
  connection: Connection,
  limit: number,
): Promise<RememberedInClear[]> => connection.query(listStatement, [limit])

const moveStatement = statement(
  'move_idempotency_key_in_clear',
  `with moved as (
     delete from idempotency_record_in_clear where client_id = $1 and idempotency_key = $2
     returning client_id, request_fingerprint, retired, created_at
   )
   insert into idempotency_record
     (client_id, key_hash, claim_id, request_fingerprint, answer, retired, created_at)
   select client_id, $3, $4::uuid, request_fingerprint, $5, retired, created_at from moved
   on conflict (client_id, key_hash) do nothing`,
)

/** Keeps the hash of a key in place of the key, unless another process was first. */
export const moveKeyInClear = async (
  connection: Connection,
  { clientId, idempotencyKey }: RememberedInClear,
  keyHash: Uint8Array,
  claimId: string,
  answer: Uint8Array | null,
): Promise<void> => {
  await connection.query(moveStatement, [clientId, idempotencyKey, keyHash, claimId, answer])
}

const lockStatement = statement(
  'lock_idempotency_keys_in_clear',
  'lock table idempotency_record_in_clear in access exclusive mode',
)
const truncateStatement = statement(
  'truncate_idempotency_keys_in_clear',
  'truncate idempotency_record_in_clear',
)

/** Rows that were deleted lie in the table's file until it is written anew. */
export const wipeKeysInClear = (database: Database): Promise<void> =>
  database.transaction(async (connection) => {
    await connection.query(lockStatement)
    const left = firstRow(await listKeysInClear(connection, 1))
    if (!left) await connection.query(truncateStatement)
  })
