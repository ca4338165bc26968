import { type Connection, firstRow, onKey, statement } from './database.ts'

/** Names one remembered request. */
export interface IdempotencyReference {
  readonly clientId: string
  readonly idempotencyKey: string
}

const claimStatement = statement(
  'claim_idempotency_key',
  `insert into idempotency_record (client_id, idempotency_key, request_fingerprint)
   values ($1, $2, $3)
   on conflict (client_id, idempotency_key) do update
     set request_fingerprint = excluded.request_fingerprint, answer = null, retired = false,
       created_at = now(), claim_id = excluded.claim_id
     where idempotency_record.created_at < now() - interval '24 hours'
   returning claim_id as "claimId"`,
)

/**
 * Claims a key until the transaction ends; a request that holds it already is waited for.
 * @returns the claim, or null where the key was not free: it was used within 24 hours.
 * @throws `LockTimeout` when the other request takes too long.
 */
export const claimIdempotencyKey = async (
  connection: Connection,
  { clientId, idempotencyKey }: IdempotencyReference,
  requestFingerprint: Uint8Array,
): Promise<string | null> => {
  const values = [clientId, idempotencyKey, requestFingerprint]
  const claimed = firstRow(await connection.query<{ claimId: string }>(claimStatement, values))
  return claimed?.claimId ?? null
}

export interface RememberedRequest {
  readonly claimId: string
  readonly isSameRequest: boolean
  readonly retired: boolean
  /** Null while the request that claimed the key has not finished, or if it never did. */
  readonly answer: Uint8Array | null
  readonly ageSeconds: number
}

const findStatement = statement(
  'find_idempotency_record',
  `select encode(request_fingerprint, 'hex') = any ($3::text[]) as "isSameRequest", retired, answer,
     claim_id as "claimId", extract(epoch from now() - created_at)::integer as "ageSeconds"
   from idempotency_record where client_id = $1 and idempotency_key = $2`,
)

/**
 * What is remembered under a key, held against the request at hand: it was remembered by its
 * fingerprint under the key of that day.
 */
export const findRememberedRequest = async (
  connection: Connection,
  { clientId, idempotencyKey }: IdempotencyReference,
  requestFingerprints: readonly Uint8Array[],
): Promise<RememberedRequest | null> => {
  const texts = requestFingerprints.map((each) => Buffer.from(each).toString('hex'))
  return firstRow(await connection.query(findStatement, [clientId, idempotencyKey, texts]))
}

const storeStatement = statement(
  'store_idempotent_answer',
  `update idempotency_record set answer = coalesce(answer, $4)
   where client_id = $1 and idempotency_key = $2 and claim_id = $3
   returning answer, answer = $4 as "isOwn"`,
)

/** The answer that is remembered, and whether it is the one that was brought. */
export interface StoredAnswer {
  readonly answer: Uint8Array
  readonly isOwn: boolean
}

/**
 * Remembers an answer under a claim, unless one is remembered: the first one stays.
 * @returns null where the claim has been forgotten, or the key is another request's by now.
 */
export const storeAnswer = async (
  connection: Connection,
  { clientId, idempotencyKey }: IdempotencyReference,
  claimId: string,
  answer: Uint8Array,
): Promise<StoredAnswer | null> =>
  firstRow(await connection.query(storeStatement, [clientId, idempotencyKey, claimId, answer]))

const retireStatement = statement(
  'retire_idempotency_key',
  'update idempotency_record set retired = true where client_id = $1 and idempotency_key = $2',
)

/** Makes a key answer nobody any more, until it is forgotten. */
export const retireIdempotencyKey = async (
  connection: Connection,
  { clientId, idempotencyKey }: IdempotencyReference,
): Promise<void> => {
  await connection.query(retireStatement, [clientId, idempotencyKey])
}

const pruneStatement = statement(
  'prune_idempotency_records',
  `with old as materialized (
     select client_id, idempotency_key from idempotency_record
     where created_at < (select now() - interval '24 hours') order by created_at limit $1
   )
   delete from idempotency_record using old
   where ${onKey('idempotency_record', 'old', ['client_id', 'idempotency_key'])}
     and created_at + interval '24 hours' < now()
   returning idempotency_record.client_id as "clientId"`,
)

/** Forgets some of the requests older than 24 hours. @returns how many. */
export const pruneIdempotencyRecords = async (
  connection: Connection,
  limit: number,
): Promise<number> => (await connection.query(pruneStatement, [limit])).length
