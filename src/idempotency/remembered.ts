import { Problem } from '../errors.ts'
import type { Hsm } from '../hsm/hsm.ts'
import { type Connection, LockTimeout } from '../storage/database.ts'
import {
  claimIdempotencyKey,
  findRememberedRequest,
  type IdempotencyReference,
  type RememberedRequest,
  retireIdempotencyKey,
} from '../storage/idempotency.ts'

/** A request that its caller may send again. */
export interface RepeatableRequest {
  readonly clientId: string
  /** The caller's own text: it is kept as a keyed hash only. */
  readonly idempotencyKey: string
  /** Method, path and parsed body as one text, the same for the same request. */
  readonly request: string
  /** Whether the body holds a PIN or CVV: then a mismatch must not tell what it was. */
  readonly bearsSecret: boolean
}

/** The same request as it is remembered: nothing of it is what the caller wrote. */
export interface KeyedRequest extends IdempotencyReference {
  /** Of the whole request, one for each version of their key, the active first. */
  readonly fingerprints: readonly [Uint8Array, ...Uint8Array[]]
  readonly bearsSecret: boolean
}

/** Takes the HSM's keyed hashes in the place of a request's texts. */
export async function keyedRequest(
  hsm: Hsm,
  request: Omit<RepeatableRequest, 'bearsSecret'> & { readonly bearsSecret?: boolean },
): Promise<KeyedRequest> {
  const { bearsSecret = false, clientId } = request
  const [active, ...others] = await hsm.fingerprintRequest(request)
  if (!active) throw new Error('A request has no fingerprint.')
  return {
    clientId,
    keyHashes: [active.keyHash, ...others.map(({ keyHash }) => keyHash)],
    fingerprints: [active.fingerprint, ...others.map(({ fingerprint }) => fingerprint)],
    bearsSecret,
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
 * @throws `Problem` `idempotency_key_in_use` while another request holds it.
 */
export async function claimKey(
  connection: Connection,
  request: KeyedRequest,
): Promise<string | null> {
  try {
    return await claimIdempotencyKey(connection, request, request.fingerprints[0])
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
): Promise<RememberedRequest | null> {
  const remembered = await findRememberedRequest(connection, request, request.fingerprints)
  if (!remembered) throw new Problem('idempotency_key_in_use')
  if (remembered.isSameRequest && !remembered.retired) return remembered
  // A second guess at the same key would tell whether this body holds the remembered PIN.
  if (request.bearsSecret) await retireIdempotencyKey(connection, request)
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
