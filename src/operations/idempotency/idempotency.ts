import { randomUUID } from 'node:crypto'
import { Problem } from '../../domain/problem.ts'
import type { Secret } from '../../domain/secret.ts'
import type { Hsm } from '../../hsm/contract/hsm.ts'
import { type Connection, type Database, LockTimeout } from '../../storage/engine/database.ts'
import * as storedRequests from '../../storage/idempotency/idempotency.ts'
import type { NewOriginal } from '../../storage/links/transactions.ts'

/** A request that its caller may repeat. */
export interface RepeatableRequest {
  readonly clientId: string
  /** The caller's own text, stored only as a keyed hash. */
  readonly idempotencyKey: string
  /**
   * Method, path and parsed body as one text, equal for equal requests. The body may contain a PIN.
   */
  readonly request: Secret<string>
  /** Whether the body contains a PIN or CVV: a mismatch must then not reveal anything about it. */
  readonly bearsSecret: boolean
  /** The transaction that a network begins with the request. */
  readonly original?: NewOriginal
  /**
   * A check that {@link once} runs in its transaction before the work. A repeat, which gets the
   * first answer, skips it.
   */
  readonly assertBefore?: (connection: Connection) => Promise<void>
}

/** The same request in its stored form, without the caller's texts. */
export interface KeyedRequest extends storedRequests.IdempotencyReference {
  /**
   * Fingerprints of the whole request, one for each version of their key, the active version first.
   */
  readonly fingerprints: readonly [Uint8Array, ...Uint8Array[]]
  readonly bearsSecret: boolean
  readonly original?: NewOriginal
}

/** Replaces the texts of a request with the HSM's keyed hashes. */
export async function keyedRequest(hsm: Hsm, request: RepeatableRequest): Promise<KeyedRequest> {
  const { bearsSecret, clientId, original } = request
  const [active, ...others] = await hsm.fingerprintRequest(request)
  if (!active) throw new Error('A request has no fingerprint.')
  return {
    clientId,
    keyHashes: [active.keyHash, ...others.map(({ keyHash }) => keyHash)],
    fingerprints: [active.fingerprint, ...others.map(({ fingerprint }) => fingerprint)],
    bearsSecret,
    ...(original && { original }),
  }
}

/** The answer of an operation, new or replayed. */
export interface Answer<Result> {
  readonly result: Result
  readonly replayed: boolean
}

/**
 * Claims the key of a request until the transaction ends.
 * @returns the claim, or null if the key was not free.
 * @throws `Problem` `idempotency_key_in_use` while another request has it.
 */
export async function claimKey(
  connection: Connection,
  request: KeyedRequest,
): Promise<string | null> {
  try {
    return await storedRequests.claimIdempotencyKey(connection, request, request.fingerprints[0])
  } catch (error) {
    if (error instanceof LockTimeout) throw new Problem('idempotency_key_in_use', { cause: error })
    throw error
  }
}

/**
 * Returns the stored record of the same request, or null if the key was used for another one. The
 * caller refuses after the transaction, so that a key that is retired here stays retired.
 */
export async function findRemembered(
  connection: Connection,
  request: KeyedRequest,
): Promise<storedRequests.RememberedRequest | null> {
  const remembered = await storedRequests.findRememberedRequest(
    connection,
    request,
    request.fingerprints,
  )
  if (!remembered) throw new Problem('idempotency_key_in_use')
  return checkRemembered(connection, request, remembered)
}

/** Null if the key was used for another request, or is retired. */
async function checkRemembered(
  connection: Connection,
  request: KeyedRequest,
  remembered: storedRequests.RememberedRequest,
): Promise<storedRequests.RememberedRequest | null> {
  if (remembered.isSameRequest && !remembered.retired) return remembered
  // A second guess at the same key would reveal whether this body has the stored PIN.
  if (request.bearsSecret) await storedRequests.retireIdempotencyKey(connection, request)
  return null
}

/** The subject that an answer is sealed for: its client, and the claim of its key. */
export const answerSubject = (clientId: string, claimId: string): string =>
  `${clientId}\n${claimId}`

/** Seals an answer for its claim. */
export const sealAnswer = <Result>(
  hsm: Hsm,
  { clientId }: Pick<KeyedRequest, 'clientId'>,
  claimId: string,
  result: Result,
): Promise<Uint8Array> =>
  hsm.sealRecord('answer', answerSubject(clientId, claimId), JSON.stringify({ result }))

/** Opens the first answer. */
export async function replayAnswer<Result>(
  hsm: Hsm,
  { clientId }: Pick<KeyedRequest, 'clientId'>,
  { answer, claimId }: { readonly answer: Uint8Array; readonly claimId: string },
): Promise<Answer<Result>> {
  const text = await hsm.revealRecord('answer', answerSubject(clientId, claimId), answer)
  return { ...(JSON.parse(text) as { result: Result }), replayed: true }
}

/**
 * Does the work once, in one transaction. With an idempotency key, the work, its events and the
 * record of the key commit together, and a repeat gets the first answer (docs/reference/api.md,
 * "Idempotency").
 * @throws `Problem` `idempotency_key_reused` for another request, `idempotency_key_in_use` while
 *   the first one runs; any error of the work, which frees the key.
 */
export async function once<Result>(
  { database, hsm }: { readonly database: Database; readonly hsm: Hsm },
  request: RepeatableRequest | null,
  work: (connection: Connection) => Promise<Result>,
): Promise<Answer<Result>> {
  if (!request) return { result: await database.transaction(work), replayed: false }
  const keyed = await keyedRequest(hsm, request)
  const outcome = await database.transaction(async (connection) => {
    const claimId = await claimKey(connection, keyed)
    if (claimId === null) {
      const remembered = await findRemembered(connection, keyed)
      if (!remembered?.answer) return null
      const { answer, claimId: first } = remembered
      return { remembered: { answer, claimId: first } }
    }
    await request.assertBefore?.(connection)
    const result = await work(connection)
    await storedRequests.storeAnswer(
      connection,
      keyed,
      claimId,
      await sealAnswer(hsm, keyed, claimId, result),
    )
    return { result, replayed: false }
  })
  if (!outcome) throw new Problem('idempotency_key_reused')
  // After the transaction: the HSM may have to read its keys, and so need the connection.
  if ('remembered' in outcome) return replayAnswer<Result>(hsm, keyed, outcome.remembered)
  return outcome
}

/** Composes the claim of a request's key with this result as its answer; null without a key. */
export type ClaimFor<Result> = (result: Result) => Promise<storedRequests.Claim | null>

/** Whether the statement did the act, and the result to answer. */
export interface Committed<Result> {
  readonly isDone: boolean
  readonly result: Result
}

/**
 * Does an act of one statement once. The statement includes the claim of the key, so nothing is
 * locked while the act is prepared. If the key was used before, or the act is refused, the stored
 * answer is returned: a repeat gets the first answer, whatever the present state of the card is.
 * @param attempt prepares the act and commits it, or throws a `Problem` with the reason. It is
 *   retried if its data was changed before its statement.
 * @throws `Problem` as {@link once} does; `unavailable` if concurrent changes came first every
 *   time.
 */
export async function commitOnce<Result>(
  { database, hsm }: { readonly database: Database; readonly hsm: Hsm },
  request: RepeatableRequest | null,
  attempt: (claimFor: ClaimFor<Result>) => Promise<Committed<Result>>,
  attemptsMax = 3,
): Promise<Answer<Result>> {
  const keyed = request && (await keyedRequest(hsm, request))
  const claimFor: ClaimFor<Result> = async (result) => {
    if (!keyed) return null
    const claimId = randomUUID()
    const answer = await sealAnswer(hsm, keyed, claimId, result)
    return { ...keyed, requestFingerprint: keyed.fingerprints[0], claimId, answer }
  }
  const findFirst = async () => keyed && findFirstAnswer<Result>(database, hsm, keyed)
  for (let attempts = 1; attempts <= attemptsMax; attempts += 1) {
    const attempted = await attempt(claimFor).catch((error: unknown) => ({ error }))
    if ('result' in attempted && attempted.isDone) {
      return { result: attempted.result, replayed: false }
    }
    const isFault = 'error' in attempted && !(attempted.error instanceof Problem)
    const first = isFault ? null : await findFirst()
    if (first) return first
    if (!('error' in attempted)) continue
    const { error } = attempted
    // A statement with a key waited for the lock of the key or of a card, which will be free soon.
    const isInUse = keyed !== null && error instanceof LockTimeout
    throw isInUse ? new Problem('idempotency_key_in_use', { cause: error }) : error
  }
  throw new Problem('unavailable', { detail: 'Another request is changing the same resource.' })
}

/**
 * Returns the stored answer of a key; null if the key is free.
 * @throws `Problem` `idempotency_key_reused`.
 */
async function findFirstAnswer<Result>(
  database: Database,
  hsm: Hsm,
  keyed: KeyedRequest,
): Promise<Answer<Result> | null> {
  const { fingerprints } = keyed
  const found = await storedRequests.findRememberedRequest(database, keyed, fingerprints)
  if (!found) return null
  const remembered = await checkRemembered(database, keyed, found)
  if (!remembered?.answer) throw new Problem('idempotency_key_reused')
  const { answer, claimId } = remembered
  return replayAnswer<Result>(hsm, keyed, { answer, claimId })
}

const unanswered = new Error('This request has not been answered yet.')

/**
 * Returns the first answer to a repeated request, or null. For an act with long work before its
 * transaction, which a repeat then skips. The later result of `once` decides.
 * @throws `Problem` `idempotency_key_reused`, `idempotency_key_in_use`.
 */
export async function recall<Result>(
  store: { readonly database: Database; readonly hsm: Hsm },
  request: RepeatableRequest | null,
): Promise<Answer<Result> | null> {
  if (!request) return null
  try {
    // An error of the work frees its claimed key.
    return await once<Result>(store, request, async () => {
      throw unanswered
    })
  } catch (error) {
    if (error === unanswered) return null
    throw error
  }
}
