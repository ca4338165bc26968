import { randomUUID } from 'node:crypto'
import { type Connection, firstRow } from '../engine/database.ts'
import { loadStatements } from '../engine/statements.ts'
import type { NewOriginal } from '../links/transactions.ts'

/** Identifies one stored request. */
export interface IdempotencyReference {
  readonly clientId: string
  /**
   * Keyed hashes of its idempotency key, one for each version of their key, the active version
   * first.
   */
  readonly keyHashes: readonly [Uint8Array, ...Uint8Array[]]
}

const toHex = (bytes: readonly Uint8Array[]): string[] =>
  bytes.map((each) => Buffer.from(each).toString('hex'))

/** Joins bytes to one text that a statement reads as a list: `\\x01,\\x02`. */
export const joinBytes = (all: readonly Uint8Array[]): string => toByteaTexts(all).join(',')

/**
 * Joins hashes to a list that is constant before execution, so that a cluster asks only the nodes
 * with these hashes.
 */
const toByteaTexts = (hashes: readonly Uint8Array[]): string[] =>
  toHex(hashes).map((hex) => `\\x${hex}`)

const declare = loadStatements(import.meta.url)

interface NewClaim {
  readonly clientId: string
  readonly keyHashes: string
  readonly requestFingerprint: Uint8Array
  readonly claimId: string
  /** Null if it is not known yet. */
  readonly answer: Uint8Array | null
}

const insertClaim = declare<NewClaim, { isClaimed: boolean }>('claim_idempotency_key')

/** Sorts the hashes of a key, so that two concurrent claims never deadlock. */
const joinHashes = (keyHashes: readonly Uint8Array[]): string =>
  joinBytes(keyHashes.toSorted(Buffer.compare))

/**
 * Claims a key until the transaction ends; waits for a request that has claimed it already. The key
 * is claimed under every version of the hash's key, so that processes with different active
 * versions exclude each other.
 * @returns the claim, or null if the key was not free: it was used within 24 hours.
 * @throws `LockTimeout` if the other request takes too long.
 */
export async function claimIdempotencyKey(
  connection: Connection,
  { clientId, keyHashes }: IdempotencyReference,
  requestFingerprint: Uint8Array,
): Promise<string | null> {
  const claimId = randomUUID()
  const claim = { claimId, clientId, keyHashes: joinHashes(keyHashes), requestFingerprint }
  const rows = await insertClaim(connection, { ...claim, answer: null })
  return firstRow(rows)?.isClaimed ? claimId : null
}

/** The only hash of a request's idempotency key, unless the hash's own key is being rotated. */
export interface OnlyHash {
  readonly clientId: string
  readonly keyHash: Uint8Array
}

/** A claim as a parameter of an act's statement. */
export interface Claim extends IdempotencyReference {
  readonly requestFingerprint: Uint8Array
  readonly claimId: string
  /** The answer if the act is done; null if it is not known yet. */
  readonly answer: Uint8Array | null
  /**
   * The transaction that a network begins with the request. If a reversal has overtaken it, nothing
   * is done.
   */
  readonly original?: NewOriginal
}

/** A claim as the parameters of a statement. */
export interface ClaimValues {
  /** The claimant: the client, or an operator. */
  readonly claimantId: string | null
  /** In ascending order, so that two concurrent claims never deadlock; separated by commas. */
  readonly keyHashes: string | null
  readonly requestFingerprint: Uint8Array | null
  readonly claimId: string | null
  readonly answer: Uint8Array | null
}

/**
 * Converts the claim of an act to parameters.
 * @param claim null without an idempotency key.
 */
export const claimParameters = (claim: Claim | null): ClaimValues => ({
  claimantId: claim?.clientId ?? null,
  keyHashes: claim && joinHashes(claim.keyHashes),
  requestFingerprint: claim?.requestFingerprint ?? null,
  claimId: claim?.claimId ?? null,
  answer: claim?.answer ?? null,
})

/**
 * Stores the answer of an act that changed nothing.
 * @returns whether the key was free.
 */
export const rememberAnswer = async (
  connection: Connection,
  claim: Claim | null,
): Promise<boolean> => {
  if (!claim) return true
  const { answer, claimId, clientId, keyHashes, requestFingerprint } = claim
  const rows = await insertClaim(connection, {
    answer,
    claimId,
    clientId,
    keyHashes: joinHashes(keyHashes),
    requestFingerprint,
  })
  return firstRow(rows)?.isClaimed ?? false
}

export interface RememberedRequest {
  readonly claimId: string
  readonly isSameRequest: boolean
  readonly retired: boolean
  /** Null while the request that claimed the key is running, or if it was lost. */
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
 * Returns the stored request of a key within 24 hours, swept or not, compared with the present
 * request. Its fingerprint is under the key of that time.
 */
export const findRememberedRequest = async (
  connection: Connection,
  { clientId, keyHashes }: IdempotencyReference,
  requestFingerprints: readonly Uint8Array[],
): Promise<RememberedRequest | null> =>
  firstRow(
    await selectRemembered(connection, {
      clientId,
      keyHashes: toByteaTexts(keyHashes),
      requestFingerprints: toHex(requestFingerprints),
    }),
  )

/** The stored answer, and whether it is that of this call. */
interface StoredAnswer {
  readonly answer: Uint8Array
  readonly isOwn: boolean
}

interface NewAnswer {
  readonly clientId: string
  readonly keyHashes: string
  readonly claimId: string
  readonly answer: Uint8Array
}

const updateAnswer = declare<NewAnswer, StoredAnswer>('store_answer')

/**
 * Stores an answer under a claim, unless one is stored: the first one stays.
 * @returns null if the claim was deleted, or the key belongs to another request by now.
 */
export const storeAnswer = async (
  connection: Connection,
  { clientId, keyHashes }: IdempotencyReference,
  claimId: string,
  answer: Uint8Array,
): Promise<StoredAnswer | null> =>
  firstRow(
    await updateAnswer(connection, {
      clientId,
      keyHashes: joinHashes(keyHashes),
      claimId,
      answer,
    }),
  )

const updateRetired = declare<KnownKey>('retire_idempotency_key')

/** Retires a key: repeats get no answer until it is deleted. */
export const retireIdempotencyKey = async (
  connection: Connection,
  { clientId, keyHashes }: IdempotencyReference,
): Promise<void> => {
  await updateRetired(connection, { clientId, keyHashes: toByteaTexts(keyHashes) })
}

const deleteOld = declare<{ limit: number }, { count: number }>('delete_old_idempotency_records')

/**
 * Deletes some of the requests older than 24 hours.
 * @returns their number.
 */
export const expireIdempotencyRecords = async (
  connection: Connection,
  limit: number,
): Promise<number> => firstRow(await deleteOld(connection, { limit }))?.count ?? 0
