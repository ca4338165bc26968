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
export interface RepeatableRequest extends IdempotencyReference {
  /** Method, path and parsed body as one text, the same for the same request. */
  readonly request: string
  /** Whether the body holds a PIN or CVV: then a mismatch must not tell what it was. */
  readonly bearsSecret: boolean
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
  request: RepeatableRequest,
  [fingerprint]: readonly Uint8Array[],
): Promise<string | null> {
  if (!fingerprint) throw new Error('A request has no fingerprint.')
  try {
    return await claimIdempotencyKey(connection, request, fingerprint)
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
  request: RepeatableRequest,
  fingerprints: readonly Uint8Array[],
): Promise<RememberedRequest | null> {
  const remembered = await findRememberedRequest(connection, request, fingerprints)
  if (!remembered) throw new Problem('idempotency_key_in_use')
  if (remembered.isSameRequest && !remembered.retired) return remembered
  // A second guess at the same key would tell whether this body holds the remembered PIN.
  if (request.bearsSecret) await retireIdempotencyKey(connection, request)
  return null
}

const subjectOf = ({ clientId, idempotencyKey }: IdempotencyReference): string =>
  `${clientId}\n${idempotencyKey}`

/** An answer as it is kept: enciphered, and bound to its key. */
export const sealAnswer = <Result>(
  hsm: Hsm,
  request: RepeatableRequest,
  result: Result,
): Promise<Uint8Array> => hsm.sealRecord('answer', subjectOf(request), JSON.stringify({ result }))

/** The first answer again. */
export async function replayAnswer<Result>(
  hsm: Hsm,
  request: RepeatableRequest,
  sealed: Uint8Array,
): Promise<Answer<Result>> {
  const text = await hsm.revealRecord('answer', subjectOf(request), sealed)
  return { ...(JSON.parse(text) as { result: Result }), replayed: true }
}
