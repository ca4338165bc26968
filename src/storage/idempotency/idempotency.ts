import { randomUUID } from 'node:crypto'
import type { Connection, SqlScalar, Statement } from '../engine/database.ts'
import { firstRow, isNotNullViolation, statement } from '../engine/database.ts'
import { loadStatements } from '../engine/statements.ts'
import { type NewOriginal, originalOf, originalValues } from '../links/transactions.ts'

/** Names one remembered request. */
export interface IdempotencyReference {
  readonly clientId: string
  /** Keyed hashes of its idempotency key, one for each version of their key, the active first. */
  readonly keyHashes: readonly [Uint8Array, ...Uint8Array[]]
}

const hexOf = (bytes: readonly Uint8Array[]): string[] =>
  bytes.map((each) => Buffer.from(each).toString('hex'))

/** Bytes as one text that a statement reads as a list: `\\x01,\\x02`. */
export const joinBytes = (all: readonly Uint8Array[]): string => textsOf(all).join(',')

/** Hashes as a list that says before it runs which they are: a cluster asks only the nodes that have them. */
const textsOf = (hashes: readonly Uint8Array[]): string[] => hexOf(hashes).map((hex) => `\\x${hex}`)

/** A key that is known already is taken where it is as good as new: after 24 hours. */
const orTakeOld = `on conflict (client_id, key_hash) do update
    set request_fingerprint = excluded.request_fingerprint, answer = excluded.answer, retired = false,
      created_at = excluded.created_at, claim_id = excluded.claim_id
    where excluded.created_at - idempotency_record.created_at > interval '24 hours'`

const declare = loadStatements(import.meta.url)

interface RememberedKey {
  readonly clientId: string
  readonly keyHash: Uint8Array
}

const insertClaim = declare<RememberedKey & { requestFingerprint: Uint8Array; claimId: string }>(
  'claim_idempotency_key',
)
const deleteClaim = declare<RememberedKey>('release_idempotency_key')

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
    const rows = await insertClaim(connection, { clientId, keyHash, requestFingerprint, claimId })
    if (rows.length === 1) claimed.push(keyHash)
  }
  if (claimed.length === keyHashes.length) return claimId
  // Remembered under one version only, by a process that knew of no other.
  for (const keyHash of claimed) await deleteClaim(connection, { clientId, keyHash })
  return null
}

/** The only hash of a request's idempotency key, while that hash's own key is not being replaced. */
export interface OnlyHash {
  readonly clientId: string
  readonly keyHash: Uint8Array
}

/** A claim as the statement of an act makes it. */
export interface Claim extends IdempotencyReference {
  readonly requestFingerprint: Uint8Array
  readonly claimId: string
  /** What is answered if the act is done; null where that is not known yet. */
  readonly answer: Uint8Array | null
  /** The transaction that a network begins with it: where a reversal has overtaken that, nothing is done. */
  readonly original?: NewOriginal
}

/** A claim as the statement of an act takes it. */
export interface ClaimValues {
  /** Who claims the key: the client, or an operator. */
  readonly claimantId: string | null
  /** In ascending order, so that two that race wait for each other and never both; separated by commas. */
  readonly keyHashes: string | null
  readonly requestFingerprint: Uint8Array | null
  readonly claimId: string | null
  readonly answer: Uint8Array | null
}

/** The claim of an act. @param claim null without an idempotency key. */
export const claimParameters = (claim: Claim | null): ClaimValues => ({
  claimantId: claim?.clientId ?? null,
  keyHashes: claim && joinBytes(claim.keyHashes.toSorted(Buffer.compare)),
  requestFingerprint: claim?.requestFingerprint ?? null,
  claimId: claim?.claimId ?? null,
  answer: claim?.answer ?? null,
})

/** The types of what `claimOf` takes. */
export const claimTypes = ['text', 'text', 'bytea', 'uuid', 'bytea'] as const

/** What `claimOf` takes: all hashes are one text. */
export const claimValues = ({
  answer,
  claimId,
  clientId,
  keyHashes,
  requestFingerprint,
}: Claim): SqlScalar[] => [
  clientId,
  hexOf(keyHashes).join(','),
  requestFingerprint,
  claimId,
  answer,
]

/**
 * The claim of a key, as parts of an act's statement: `claimed` has a row with its `claim_id` where the key was free. All
 * that is done once hangs on that row. A key that is free under some versions of the hash's key alone undoes the statement.
 * @param first number of the first of the claim's five values.
 * @param source has a row where the act can be done.
 */
export const claimOf = (first: number, source: string): string => {
  const [client, hashes, fingerprint, claimId, answer] = claimTypes.map(
    (type, at) => `$${first + at}::${type}`,
  )
  // In one order, so that two that race wait for each other and never both.
  return `claim as (
      insert into idempotency_record (client_id, key_hash, request_fingerprint, claim_id, answer)
      select ${client}, decode(hash, 'hex'), ${fingerprint}, ${claimId}, ${answer}
      from ${source} cross join unnest(string_to_array(${hashes}, ',')) as hash
      order by hash
      ${orTakeOld}
      returning claim_id
    ), claimed as (
      select claim_id, count(*) as hashes from claim group by claim_id
    ), undone as (
      insert into idempotency_record (client_id, key_hash, request_fingerprint)
      select null, '', '' from ${source} ${withClaim(first)}
      where hashes < cardinality(string_to_array(${hashes}, ',')) ${undoable}
    )`
}

/**
 * The end of an insert that may undo its statement, by a client that is null. A cluster copies rows of which nothing is asked
 * for, and then says of a row that may not be no more than that.
 */
const undoable = 'returning client_id'

/** A join with the claim that was made for a row. */
export const withClaim = (first: number): string =>
  `join claimed on claimed.claim_id = $${first + 3}`

/**
 * Whether an act that is one statement was done. It answers a row where all is done, and raises where something is to
 * be undone: an act that came to nothing halfway, a claim that is not whole.
 */
export async function isDone(commit: () => Promise<unknown>): Promise<boolean> {
  try {
    return (await commit()) !== null
  } catch (error) {
    if (isNotNullViolation(error)) return false
    throw error
  }
}

const rememberStatement = statement(
  'remember_answer',
  `with ${claimOf(1, '(select 1) as asked')} select claim_id as "claimId" from claimed`,
)
const rememberOfOriginalStatement = statement(
  'remember_answer_of_original',
  `with asked as (select 1 as one), ${originalOf(6, 'asked', '$1::text')}, ${claimOf(1, 'unreversed')}
   select claim_id as "claimId" from claimed`,
)

/** Remembers the answer of an act that found nothing to do. @returns whether the key was free, and nothing reversed. */
export const rememberAnswer = async (
  connection: Connection,
  claim: Claim | null,
): Promise<boolean> => {
  if (!claim) return true
  const [remember, values] = claim.original
    ? [rememberOfOriginalStatement, originalValues(claim.original)]
    : [rememberStatement, []]
  return isDone(async () =>
    firstRow(await connection.query(remember, [...claimValues(claim), ...values])),
  )
}

export interface RememberedRequest {
  readonly claimId: string
  readonly isSameRequest: boolean
  readonly retired: boolean
  /** Null while the request that claimed the key has not finished, or if it never did. */
  readonly answer: Uint8Array | null
  readonly ageSeconds: number
}

interface KnownKey {
  readonly clientId: string
  readonly keyHashes: readonly string[]
}

const selectRemembered = declare<
  KnownKey & { requestFingerprints: readonly string[] },
  RememberedRequest & { isConfirmed: boolean }
>('find_idempotency_record')

/**
 * What is remembered under a key for 24 hours, swept or not, compared with the request at hand: it was remembered
 * by its fingerprint under the key of that day.
 */
export const findRememberedRequest = async (
  connection: Connection,
  { clientId, keyHashes }: IdempotencyReference,
  requestFingerprints: readonly Uint8Array[],
): Promise<RememberedRequest | null> =>
  firstRow(
    await selectRemembered(connection, {
      clientId,
      keyHashes: textsOf(keyHashes),
      requestFingerprints: hexOf(requestFingerprints),
    }),
  )

/** The answer that is remembered, and whether it is the one that was brought. */
interface StoredAnswer {
  readonly answer: Uint8Array
  readonly isOwn: boolean
}

const updateAnswer = declare<RememberedKey & { claimId: string; answer: Uint8Array }, StoredAnswer>(
  'store_idempotent_answer',
)

// Two that answer may know of different hashes, but of one in common, where the second finds the first's. One row after
// the other is locked, by its key: a cluster locks no others.
const storeUnderSeveral = (hashes: number): Statement => {
  const each = Array.from({ length: hashes }, (_, at) => at + 1)
  const locked = each.map(
    (at) => `locked${at} as materialized (
       select answer from idempotency_record
       where client_id = $1 and key_hash = $${at + 3}::bytea and claim_id = $2
         ${at > 1 ? `and (select count(*) from locked${at - 1}) >= 0` : ''}
       for update
     )`,
  )
  return statement(
    `store_idempotent_answer_under_${hashes}_hashes`,
    `with ${locked.join(', ')}, first as materialized (
       select coalesce((array_agg(answer) filter (where answer is not null))[1], $3) as answer
       from (${each.map((at) => `select answer from locked${at}`).join(' union all ')}) as locked
       having count(*) > 0
     )
     update idempotency_record set answer = first.answer from first
     where client_id = $1 and key_hash = any (array[${each.map((at) => `$${at + 3}::bytea`)}]) and claim_id = $2
     returning first.answer, first.answer = $3 as "isOwn"`,
  )
}
/** By how many hashes there are. */
const storeStatements = new Map<number, Statement>()

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
  if (others.length === 0) {
    return firstRow(await updateAnswer(connection, { clientId, keyHash, claimId, answer }))
  }
  const count = keyHashes.length
  const chosen = storeStatements.get(count) ?? storeUnderSeveral(count)
  storeStatements.set(count, chosen)
  // In one order, so that two that race wait for each other and never both.
  const values = [clientId, claimId, answer, ...keyHashes.toSorted(Buffer.compare)]
  return firstRow(await connection.query<StoredAnswer>(chosen, values))
}

const updateRetired = declare<KnownKey>('retire_idempotency_key')

/** Makes a key answer nobody any more, until it is forgotten. */
export const retireIdempotencyKey = async (
  connection: Connection,
  { clientId, keyHashes }: IdempotencyReference,
): Promise<void> => {
  await updateRetired(connection, { clientId, keyHashes: textsOf(keyHashes) })
}

const deleteOld = declare<{ limit: number }, { count: number }>('delete_old_idempotency_records')

/** Forgets some of the requests older than 24 hours. @returns how many. */
export const pruneIdempotencyRecords = async (
  connection: Connection,
  limit: number,
): Promise<number> => firstRow(await deleteOld(connection, { limit }))?.count ?? 0
