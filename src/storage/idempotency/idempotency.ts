import { randomUUID } from 'node:crypto'
import type { Connection, SqlValue } from '../engine/database.ts'
import { firstRow, isNotNullViolation, onKey, statement } from '../engine/database.ts'

/** Names one remembered request. */
export interface IdempotencyReference {
  readonly clientId: string
  /** Keyed hashes of its idempotency key, one for each version of their key, the active first. */
  readonly keyHashes: readonly [Uint8Array, ...Uint8Array[]]
}

const hexOf = (bytes: readonly Uint8Array[]): string[] =>
  bytes.map((each) => Buffer.from(each).toString('hex'))

/** A key that is known already is taken where it is as good as new: after 24 hours. */
const orTakeOld = `on conflict (client_id, key_hash) do update
    set request_fingerprint = excluded.request_fingerprint, answer = excluded.answer, retired = false,
      created_at = excluded.created_at, claim_id = excluded.claim_id
    where idempotency_record.created_at < excluded.created_at - interval '24 hours'`

/**
 * Claims a key that has one hash, as a part of a statement. It returns the client where the key was free, and
 * nothing where it was not; all that is to be done once hangs on that row.
 * @param first number of the first of its parameters, which are `onlyClaimValues`.
 * @param answer of those who spend nothing, so that their claim commits with it.
 */
export const claimText = (first: number, answer = 'null::bytea'): string =>
  `insert into idempotency_record (client_id, key_hash, request_fingerprint, claim_id, answer)
   values ($${first}, $${first + 1}, $${first + 2}, $${first + 3}, ${answer})
   ${orTakeOld}
   returning client_id`

const claimStatement = statement('claim_idempotency_key', claimText(1))
const releaseStatement = statement(
  'release_idempotency_key',
  'delete from idempotency_record where client_id = $1 and key_hash = $2',
)

/**
 * Claims a key until the transaction ends; a request that has claimed it already is waited for. It is claimed
 * under every version of the hash's key: of two processes that differ on the active one, one must wait.
 * @returns the claim, or null where the key was not free: it was used within 24 hours.
 * @throws `LockTimeout` when the other request takes too long.
 */
export async function claimIdempotencyKey(
  connection: Connection,
  { clientId, keyHashes }: IdempotencyReference,
  requestFingerprint: Uint8Array,
): Promise<string | null> {
  const claimId = randomUUID()
  const claimed: Uint8Array[] = []
  // In one order, so that two that race wait for each other and never both.
  for (const keyHash of keyHashes.toSorted(Buffer.compare)) {
    const values = [clientId, keyHash, requestFingerprint, claimId]
    const rows = await connection.query(claimStatement, values)
    if (rows.length === 1) claimed.push(keyHash)
  }
  if (claimed.length === keyHashes.length) return claimId
  // Remembered under one version only, by a process that knew of no other.
  for (const keyHash of claimed) await connection.query(releaseStatement, [clientId, keyHash])
  return null
}

/** The only hash of a request's idempotency key, while that hash's own key is not being replaced. */
export interface OnlyHash {
  readonly clientId: string
  readonly keyHash: Uint8Array
}

/** A claim of a key that has one hash. */
export interface NewClaim extends OnlyHash {
  readonly claimId: string
  readonly requestFingerprint: Uint8Array
}

export const onlyClaimValues = ({ claimId, clientId, keyHash, requestFingerprint }: NewClaim) =>
  [clientId, keyHash, requestFingerprint, claimId] as const

const claimWithAnswerStatement = statement('claim_with_answer', claimText(1, '$5'))

/** Claims a key together with its answer. @returns whether the key was free. */
export const claimWithAnswer = async (
  connection: Connection,
  claim: NewClaim,
  answer: Uint8Array,
): Promise<boolean> =>
  (await connection.query(claimWithAnswerStatement, [...onlyClaimValues(claim), answer])).length ===
  1

/** A claim as the statement of an act makes it, with what is answered if the act is done. */
export interface Claim extends IdempotencyReference {
  readonly requestFingerprint: Uint8Array
  readonly claimId: string
  readonly answer: Uint8Array
}

/**
 * The beginning of an act's statement: `claimed` has a row where the key was free, and its `is_whole` says whether
 * it was under every version of the hash's key. All else hangs on that row; a claim without its act raises.
 * @param first number of the first of the claim's five parameters.
 */
export const claimOf = (first: number): string => {
  const [client, hashes, fingerprint, claimId, answer] = [0, 1, 2, 3, 4].map(
    (at) => `$${first + at}`,
  )
  return `claim as (
      insert into idempotency_record (client_id, key_hash, request_fingerprint, claim_id, answer)
      select ${client}::text, decode(hash, 'hex'), ${fingerprint}::bytea, ${claimId}::uuid, ${answer}::bytea
      from unnest(${hashes}::text[]) as hash
      ${orTakeOld}
      returning key_hash
    ), claimed as (
      select count(*) = cardinality(${hashes}::text[]) as is_whole from claim having count(*) > 0
    )`
}

/** What `claimOf` takes. */
export const claimValues = ({
  answer,
  claimId,
  clientId,
  keyHashes,
  requestFingerprint,
}: Claim): SqlValue[] => [clientId, hexOf(keyHashes).sort(), requestFingerprint, claimId, answer]

/**
 * What came of an act that is one statement. `refused`: something that it needs is not so any more; `repeated`: the
 * idempotency key was not free. Neither has done anything.
 */
export type ActOutcome = 'done' | 'refused' | 'repeated'

/** What came of a statement that returns a row where all is done, and raises where its claim is to be undone. */
export async function outcomeOf(
  claim: Claim | null,
  commit: () => Promise<readonly unknown[]>,
): Promise<ActOutcome> {
  try {
    if ((await commit()).length > 0) return 'done'
    return claim ? 'repeated' : 'refused'
  } catch (error) {
    if (isNotNullViolation(error)) return 'refused'
    throw error
  }
}

const rememberStatement = statement(
  'remember_answer',
  `with ${claimOf(1)}, undone as (
     insert into idempotency_record (client_id, key_hash, request_fingerprint)
     select $1, '', null from claimed where not is_whole
   )
   select is_whole as "isWhole" from claimed`,
)

/** Remembers the answer of an act that found nothing to do. */
export const rememberAnswer = async (
  connection: Connection,
  claim: Claim | null,
): Promise<ActOutcome> =>
  claim ? outcomeOf(claim, () => connection.query(rememberStatement, claimValues(claim))) : 'done'

export interface RememberedRequest {
  readonly claimId: string
  readonly isSameRequest: boolean
  readonly retired: boolean
  /** Null while the request that claimed the key has not finished, or if it never did. */
  readonly answer: Uint8Array | null
  readonly ageSeconds: number
}

const ofKey = `client_id = $1 and key_hash in (select decode(hash, 'hex') from unnest($2::text[]) hash)`

// Beside a hash that only the one who claimed knew of there may be none.
const findStatement = statement(
  'find_idempotency_record',
  `select encode(request_fingerprint, 'hex') = any ($3::text[]) as "isSameRequest", retired,
     claim_id as "claimId", answer,
     extract(epoch from now() - created_at)::integer as "ageSeconds"
   from idempotency_record
   where ${ofKey} and created_at >= now() - interval '24 hours'
   order by answer is null limit 1`,
)

/**
 * What is remembered under a key for 24 hours, swept or not, compared with the request at hand: it was remembered
 * by its fingerprint under the key of that day.
 */
export const findRememberedRequest = async (
  connection: Connection,
  { clientId, keyHashes }: IdempotencyReference,
  requestFingerprints: readonly Uint8Array[],
): Promise<RememberedRequest | null> => {
  const values = [clientId, hexOf(keyHashes), hexOf(requestFingerprints)]
  return firstRow(await connection.query(findStatement, values))
}

const storeStatement = statement(
  'store_idempotent_answer',
  `update idempotency_record set answer = coalesce(answer, $4)
   where client_id = $1 and key_hash = $2 and claim_id = $3
   returning answer, answer = $4 as "isOwn"`,
)
// Two that answer may know of different hashes, but of one in common, where the second finds the first's.
const storeUnderSeveralStatement = statement(
  'store_idempotent_answer_under_several_hashes',
  `with claimed as materialized (
     select key_hash, answer from idempotency_record where ${ofKey} and claim_id = $3
     order by key_hash for update
   ), first as materialized (
     select coalesce((array_agg(answer) filter (where answer is not null))[1], $4) as answer
     from claimed
   )
   update idempotency_record set answer = first.answer from first
   where ${ofKey} and claim_id = $3 and (select count(*) from claimed) > 0
   returning first.answer, first.answer = $4 as "isOwn"`,
)

/** The answer that is remembered, and whether it is the one that was brought. */
interface StoredAnswer {
  readonly answer: Uint8Array
  readonly isOwn: boolean
}

/**
 * Remembers an answer under a claim, unless one is remembered: the first one stays.
 * @returns null where the claim has been forgotten, or the key is another request's by now.
 */
export const storeAnswer = async (
  connection: Connection,
  { clientId, keyHashes }: IdempotencyReference,
  claimId: string,
  answer: Uint8Array,
): Promise<StoredAnswer | null> => {
  const [keyHash, ...others] = keyHashes
  // Mostly there is one, while no key is being replaced.
  const isOne = others.length === 0
  const values = [clientId, isOne ? keyHash : hexOf(keyHashes), claimId, answer]
  return firstRow(
    await connection.query(isOne ? storeStatement : storeUnderSeveralStatement, values),
  )
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
  `with old as materialized (
     select client_id, key_hash from idempotency_record
     where created_at < (select now() - interval '24 hours') order by created_at limit $1
   )
   delete from idempotency_record using old
   where ${onKey('idempotency_record', 'old', ['client_id', 'key_hash'])}
     and created_at + interval '24 hours' < now()
   returning idempotency_record.client_id as "clientId"`,
)

/** Forgets some of the requests older than 24 hours. @returns how many. */
export const pruneIdempotencyRecords = async (
  connection: Connection,
  limit: number,
): Promise<number> => (await connection.query(pruneStatement, [limit])).length
