import { Problem } from '../errors.ts'
import { type Connection, LockTimeout } from '../storage/database.ts'
import {
  claimIdempotencyKey,
  findRememberedRequest,
  type IdempotencyReference,
  retireIdempotencyKey,
  storeAnswer,
} from '../storage/idempotency.ts'
import type { Issuing } from './issuing.ts'

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
 * Does the work in one transaction, and once: with an idempotency key, the work, its events and the
 * record of the key commit together, and a repeat gets the first answer (contract, section 4).
 * @throws `Problem` `idempotency_key_reused` for another request, `idempotency_key_in_use` while the
 * first one runs; whatever the work throws, and then the key is free again.
 */
export async function once<Result>(
  { database, hsm }: Pick<Issuing, 'database' | 'hsm'>,
  request: RepeatableRequest | null,
  work: (connection: Connection) => Promise<Result>,
): Promise<Answer<Result>> {
  if (!request) return { result: await database.transaction(work), replayed: false }
  const fingerprint = await hsm.fingerprintRequest(request.request)
  const subject = `${request.clientId}\n${request.idempotencyKey}`
  const answer = await database.transaction(async (connection) => {
    if (!(await claim(connection, request, fingerprint))) {
      const sealed = await findAnswer(connection, request, fingerprint)
      return sealed && replay<Result>(await hsm.revealRecord('answer', subject, sealed))
    }
    const result = await work(connection)
    const sealed = await hsm.sealRecord('answer', subject, JSON.stringify({ result }))
    await storeAnswer(connection, request, sealed)
    return { result, replayed: false }
  })
  // Thrown only here, so that a key that was retired stays so.
  if (!answer) throw new Problem('idempotency_key_reused')
  return answer
}

function replay<Result>(text: string): Answer<Result> {
  return { ...(JSON.parse(text) as { result: Result }), replayed: true }
}

async function claim(
  connection: Connection,
  request: RepeatableRequest,
  fingerprint: Uint8Array,
): Promise<boolean> {
  try {
    return await claimIdempotencyKey(connection, request, fingerprint)
  } catch (error) {
    if (error instanceof LockTimeout) throw new Problem('idempotency_key_in_use', { cause: error })
    throw error
  }
}

/** The sealed first answer to the same request, or null when the key was used for another one. */
async function findAnswer(
  connection: Connection,
  request: RepeatableRequest,
  fingerprint: Uint8Array,
): Promise<Uint8Array | null> {
  const remembered = await findRememberedRequest(connection, request, fingerprint)
  if (!remembered) throw new Problem('idempotency_key_in_use')
  if (remembered.isSameRequest && !remembered.retired) return remembered.answer
  // A second guess at the same key would tell whether this body holds the remembered PIN.
  if (request.bearsSecret) await retireIdempotencyKey(connection, request)
  return null
}
