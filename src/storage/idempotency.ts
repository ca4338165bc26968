import { type Connection, firstRow, statement } from './database.ts'

/** Names one remembered request. */
export interface IdempotencyReference {
  readonly clientId: string
  /** Keyed hashes of its idempotency key, one for each version of their key, the active first. */
  readonly keyHashes: readonly [Uint8Array, ...Uint8Array[]]
}

const claimStatement = statement(
  'claim_idempotency_key',
  `insert into idempotency_record (client_id, key_hash, request_fingerprint)
   values ($1, $2, $3)
   on conflict (client_id, key_hash) do update
     set request_fingerprint = excluded.request_fingerprint, answer = null, retired = false,
       created_at = excluded.created_at
     where idempotency_record.created_at < excluded.created_at - interval '24 hours'
   returning client_id as "clientId"`,
)
const releaseStatement = statement(
  'release_idempotency_key',
  'delete from idempotency_record where client_id = $1 and key_hash = $2',
)

/**
 * Claims a key until the transaction ends; a request that holds it already is waited for. It is claimed
 * under every version of the hash's key: of two processes that differ on the active one, one must wait.
 * @returns whether the key was free: never used, or 24 hours ago.
 * @throws `LockTimeout` when the other request takes too long.
 */
export async function claimIdempotencyKey(
  connection: Connection,
  { clientId, keyHashes }: IdempotencyReference,
  requestFingerprint: Uint8Array,
): Promise<boolean> {
  const claimed: Uint8Array[] = []
  // In one order, so that two that race wait for each other and never both.
  for (const keyHash of keyHashes.toSorted(Buffer.compare)) {
    const rows = await connection.query(claimStatement, [clientId, keyHash, requestFingerprint])
    if (rows.length === 1) claimed.push(keyHash)
  }
  if (claimed.length === keyHashes.length) return true
  // Remembered under one version only, by a process that knew of no other.
  for (const keyHash of claimed) await connection.query(releaseStatement, [clientId, keyHash])
  return false
}

/** An answer as it is kept, and the hash of the key that it is bound to. */
export interface RememberedAnswer {
  readonly keyHash: Uint8Array
  readonly sealed: Uint8Array
}

export interface RememberedRequest {
  readonly isSameRequest: boolean
  readonly retired: boolean
  /** Null while the request that claimed the key has not finished, or if it never did. */
  readonly answer: RememberedAnswer | null
  readonly ageSeconds: number
}

const ofKey = `client_id = $1 and key_hash in (select decode(hash, 'hex') from unnest($2::text[]) hash)`

// The answer is beside one of the hashes: the one that was the first to whoever answered.
const findStatement = statement(
  'find_idempotency_record',
  `select encode(request_fingerprint, 'hex') = any ($3::text[]) as "isSameRequest", retired,
     key_hash as "keyHash", answer,
     extract(epoch from now() - created_at)::integer as "ageSeconds"
   from idempotency_record where ${ofKey} order by answer is null limit 1`,
)

const hexOf = (bytes: readonly Uint8Array[]): string[] =>
  bytes.map((each) => Buffer.from(each).toString('hex'))

/**
 * What is remembered under a key, held against the request at hand: it was remembered by its
 * fingerprint under the key of that day.
 */
export async function findRememberedRequest(
  connection: Connection,
  { clientId, keyHashes }: IdempotencyReference,
  requestFingerprints: readonly Uint8Array[],
): Promise<RememberedRequest | null> {
  type Row = Omit<RememberedRequest, 'answer'> & {
    readonly keyHash: Uint8Array
    readonly answer: Uint8Array | null
  }
  const values = [clientId, hexOf(keyHashes), hexOf(requestFingerprints)]
  const row = firstRow(await connection.query<Row>(findStatement, values))
  if (!row) return null
  const { answer: sealed, keyHash, ...remembered } = row
  return { ...remembered, answer: sealed && { keyHash, sealed } }
}

const storeStatement = statement(
  'store_idempotent_answer',
  'update idempotency_record set answer = $3 where client_id = $1 and key_hash = $2',
)

/** Remembers the answer of the request that claimed the key. */
export const storeAnswer = async (
  connection: Connection,
  { clientId, keyHashes: [keyHash] }: IdempotencyReference,
  answer: Uint8Array,
): Promise<void> => {
  await connection.query(storeStatement, [clientId, keyHash, answer])
}

const retireStatement = statement(
  'retire_idempotency_key',
  `update idempotency_record set retired = true where ${ofKey}`,
)

/** Makes a key answer nobody any more, until it is forgotten. */
export const retireIdempotencyKey = async (
  connection: Connection,
  { clientId, keyHashes }: IdempotencyReference,
): Promise<void> => {
  await connection.query(retireStatement, [clientId, hexOf(keyHashes)])
}

const pruneStatement = statement(
  'prune_idempotency_records',
  `delete from idempotency_record
   where (client_id, key_hash) in (
     select client_id, key_hash from idempotency_record
     where created_at < now() - interval '24 hours' order by created_at limit $1
   ) and created_at < now() - interval '24 hours'
   returning client_id as "clientId"`,
)

/** Forgets some of the requests older than 24 hours. @returns how many. */
export const pruneIdempotencyRecords = async (
  connection: Connection,
  limit: number,
): Promise<number> => (await connection.query(pruneStatement, [limit])).length
