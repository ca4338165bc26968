import { randomUUID } from 'node:crypto'
import { Problem } from '../../domain/problem.ts'
import type { Secret } from '../../domain/secret.ts'
import type { Hsm } from '../../hsm/contract/hsm.ts'
import { type Connection, type Database, LockTimeout } from '../../storage/engine/database.ts'
import * as storedRequests from '../../storage/idempotency/idempotency.ts'
import type { NewOriginal } from '../../storage/links/transactions.ts'

/** A request that its caller may send again. */
export interface RepeatableRequest {
  readonly clientId: string
  /** The caller's own text: it is kept as a keyed hash only. */
  readonly idempotencyKey: string
  /**
   * Method, path and parsed body as one text, the same for the same request. The body may have a
   * PIN in it.
   */
  readonly request: Secret<string>
  /** Whether the body holds a PIN or CVV: then a mismatch must not give away what it was. */
  readonly bearsSecret: boolean
  /** The transaction that a network begins with it. */
  readonly original?: NewOriginal
  /**
   * What {@link once} asserts in its transaction before the work. A repeat, which gets the first
   * answer, does not assert it again.
   */
  readonly assertBefore?: (connection: Connection) => Promise<void>
}

/** The same request as it is remembered: nothing of it is what the caller wrote. */
export interface KeyedRequest extends storedRequests.IdempotencyReference {
  /** Of the whole request, one for each version of their key, the active first. */
  readonly fingerprints: readonly [Uint8Array, ...Uint8Array[]]
  readonly bearsSecret: boolean
  readonly original?: NewOriginal
}

/** Takes the HSM's keyed hashes in the place of a request's texts. */
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

/** What an operation answered, now or the first time. */
export interface Answer<Result> {
  readonly result: Result
  readonly replayed: boolean
}

/**
 * Claims the key of a request until the transaction ends.
 * @returns the claim, or null where the key was not free.
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
 * What is remembered of the same request, or null when the key was used for another one. Its caller
 * refuses after the transaction, so that a key that is retired here stays so.
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

/** Null where the key was used for another request, or is retired. */
async function checkRemembered(
  connection: Connection,
  request: KeyedRequest,
  remembered: storedRequests.RememberedRequest,
): Promise<storedRequests.RememberedRequest | null> {
  if (remembered.isSameRequest && !remembered.retired) return remembered
  // A second guess at the same key would show whether this body has the remembered PIN.
  if (request.bearsSecret) await storedRequests.retireIdempotencyKey(connection, request)
  return null
}

/** What an answer is bound to: whose it is, and the claim of the key that it was given under. */
export const answerSubject = (clientId: string, claimId: string): string =>
  `${clientId}\n${claimId}`

/** An answer as it is kept: enciphered, and bound to its claim. */
export const sealAnswer = <Result>(
  hsm: Hsm,
  { clientId }: Pick<KeyedRequest, 'clientId'>,
  claimId: string,
  result: Result,
): Promise<Uint8Array> =>
  hsm.sealRecord('answer', answerSubject(clientId, claimId), JSON.stringify({ result }))

/** The first answer again. */
export async function replayAnswer<Result>(
  hsm: Hsm,
  { clientId }: Pick<KeyedRequest, 'clientId'>,
  { answer, claimId }: { readonly answer: Uint8Array; readonly claimId: string },
): Promise<Answer<Result>> {
  const text = await hsm.revealRecord('answer', answerSubject(clientId, claimId), answer)
  return { ...(JSON.parse(text) as { result: Result }), replayed: true }
}

/**
 * Does the work in one transaction, and once: with an idempotency key, the work, its events and the
 * record of the key commit together, and a repeat gets the first answer (docs/reference/api.md,
 * "Idempotency").
 * @throws `Problem` `idempotency_key_reused` for another request, `idempotency_key_in_use` while
 * the first one runs; whatever the work throws, and then the key is free again.
 */
export async function once<Result>(
  { database, hsm }: { readonly database: Database; readonly hsm: Hsm },
  request: RepeatableRequest | null,
  work: (connection: Connection) => Promise<Result>,
): Promise<Answer<Result>> {
  if (!request) return { result: await database.transaction(work), replayed: false }
  const keyed = await keyedRequest(hsm, request)
  const answer = await database.transaction(async (connection) => {
    const claimId = await claimKey(connection, keyed)
    if (claimId === null) {
      const remembered = await findRemembered(connection, keyed)
      if (!remembered?.answer) return null
      const { answer, claimId: first } = remembered
      return replayAnswer<Result>(hsm, keyed, { answer, claimId: first })
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
  if (!answer) throw new Problem('idempotency_key_reused')
  return answer
}

/** Makes the claim of a request's key, which remembers this as its answer; null without a key. */
export type ClaimFor<Result> = (result: Result) => Promise<storedRequests.Claim | null>

/** What one statement came to, and what its act answers where it was done. */
export interface Committed<Result> {
  readonly isDone: boolean
  readonly result: Result
}

/**
 * Does an act that is one statement, and once: the claim of its key is in that statement, so that
 * nothing is locked while the act is prepared. Where the key is another's, or the act is refused,
 * it is looked up what that key has answered: a repeat gets the first answer, whatever is so of the
 * card by now.
 * @param attempt prepares the act and commits it; says by a `Problem` why it cannot be done. Where
 * what it read was changed by another before its statement came, it is tried again.
 * @throws `Problem` as {@link once} does; `unavailable` when others were quicker every time.
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
    // A statement under a key waited for the key, or for a card: in a moment neither is locked.
    const isInUse = keyed !== null && error instanceof LockTimeout
    throw isInUse ? new Problem('idempotency_key_in_use', { cause: error }) : error
  }
  throw new Problem('unavailable', { detail: 'Another request is changing the same resource.' })
}

/** What a key has answered; null where it is free. @throws `Problem` `idempotency_key_reused`. */
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
 * The first answer to a request that was answered already, or null. For an act that has long work
 * to do before its transaction: a repeat is spared it. What `once` says afterwards is what counts.
 * @throws `Problem` `idempotency_key_reused`, `idempotency_key_in_use`.
 */
export async function recall<Result>(
  store: { readonly database: Database; readonly hsm: Hsm },
  request: RepeatableRequest | null,
): Promise<Answer<Result> | null> {
  if (!request) return null
  try {
    // What the work throws frees the key that was claimed for it.
    return await once<Result>(store, request, async () => {
      throw unanswered
    })
  } catch (error) {
    if (error === unanswered) return null
    throw error
  }
}
