import { randomUUID } from 'node:crypto'
import { type Connection, firstRow } from '../engine/database.ts'
import { loadStatements } from '../engine/statements.ts'
import type { NewOriginal } from '../links/transactions.ts'

/** Names one remembered request. */
export interface IdempotencyReference {
  readonly clientId: string
  /** Keyed hashes of its idempotency key, one for each version of their key, the active first. */
  readonly keyHashes: readonly [Uint8Array, ...Uint8Array[]]
}

const toHex = (bytes: readonly Uint8Array[]): string[] =>
  bytes.map((each) => Buffer.from(each).toString('hex'))

/** Bytes as one text that a statement reads as a list: `\\x01,\\x02`. */
export const joinBytes = (all: readonly Uint8Array[]): string => toByteaTexts(all).join(',')

/**
 * Hashes as a list that says before it runs which they are: a cluster asks only the nodes that have
 * them.
 */
const toByteaTexts = (hashes: readonly Uint8Array[]): string[] =>
  toHex(hashes).map((hex) => `\\x${hex}`)

const declare = loadStatements(import.meta.url)

interface NewClaim {
  readonly clientId: string
  readonly keyHashes: string
  readonly requestFingerprint: Uint8Array
  readonly claimId: string
  /** Null where it is not known yet. */
  readonly answer: Uint8Array | null
}

const insertClaim = declare<NewClaim, { isClaimed: boolean }>('claim_idempotency_key')

/** The hashes of a key in one order, so that two that race wait for each other and never both. */
const joinHashes = (keyHashes: readonly Uint8Array[]): string =>
  joinBytes(keyHashes.toSorted(Buffer.compare))

/**
 * Claims a key until the transaction ends; a request that has claimed it already is waited for. It
 * is claimed under every version of the hash's key: of two processes that differ on the active one,
 * one must wait.
 * @returns the claim, or null where the key was not free: it was used within 24 hours.
 * @throws `LockTimeout` when the other request takes too long.
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

/**
 * The only hash of a request's idempotency key, while that hash's own key is not being replaced.
 */
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
  /**
   * The transaction that a network begins with it: where a reversal has overtaken that, nothing is
   * done.
   */
  readonly original?: NewOriginal
}

/** A claim as the statement of an act takes it. */
export interface ClaimValues {
  /** Who claims the key: the client, or an operator. */
  readonly claimantId: string | null
  /**
   * In ascending order, so that two that race wait for each other and never both; separated by
   * commas.
   */
  readonly keyHashes: string | null
  readonly requestFingerprint: Uint8Array | null
  readonly claimId: string | null
  readonly answer: Uint8Array | null
}

/** The claim of an act. @param claim null without an idempotency key. */
export const claimParameters = (claim: Claim | null): ClaimValues => ({
  claimantId: claim?.clientId ?? null,
  keyHashes: claim && joinHashes(claim.keyHashes),
  requestFingerprint: claim?.requestFingerprint ?? null,
  claimId: claim?.claimId ?? null,
  answer: claim?.answer ?? null,
})

/** Remembers the answer of an act that found nothing to do. @returns whether the key was free. */
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
 * What is remembered under a key for 24 hours, swept or not, compared with the request at hand: it
 * was remembered by its fingerprint under the key of that day.
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

/** The answer that is remembered, and whether it is the one that was brought. */
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
 * Remembers an answer under a claim, unless one is remembered: the first one stays.
 * @returns null where the claim has been forgotten, or the key is another request's by now.
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

/** Retires a key: it answers no repeat until it is deleted. */
export const retireIdempotencyKey = async (
  connection: Connection,
  { clientId, keyHashes }: IdempotencyReference,
): Promise<void> => {
  await updateRetired(connection, { clientId, keyHashes: toByteaTexts(keyHashes) })
}

const deleteOld = declare<{ limit: number }, { count: number }>('delete_old_idempotency_records')

/** Deletes some of the requests older than 24 hours. @returns how many. */
export const expireIdempotencyRecords = async (
  connection: Connection,
  limit: number,
): Promise<number> => firstRow(await deleteOld(connection, { limit }))?.count ?? 0
