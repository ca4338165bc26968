import { type Connection, statement } from '../engine/database.ts'

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

/**
 * Claims a key that has one hash, as a part of a statement. It returns the client where the key was free, and
 * nothing where it was not; all that is to be done once hangs on that row.
 * @param first number of the first of its parameters, which are `claimValues`.
 * @param answer of those who spend nothing, so that their claim commits with it.
 */
export const claimText = (first: number, answer = 'null::bytea'): string =>
  `insert into idempotency_record (client_id, key_hash, request_fingerprint, claim_id, answer)
   values ($${first}, $${first + 1}, $${first + 2}, $${first + 3}, ${answer})
   on conflict (client_id, key_hash) do update
     set request_fingerprint = excluded.request_fingerprint, answer = excluded.answer, retired = false,
       created_at = excluded.created_at, claim_id = excluded.claim_id
     where idempotency_record.created_at < excluded.created_at - interval '24 hours'
   returning client_id`

export const claimValues = ({ claimId, clientId, keyHash, requestFingerprint }: NewClaim) =>
  [clientId, keyHash, requestFingerprint, claimId] as const

const claimWithAnswerStatement = statement('claim_with_answer', claimText(1, '$5'))

/** Claims a key together with its answer. @returns whether the key was free. */
export const claimWithAnswer = async (
  connection: Connection,
  claim: NewClaim,
  answer: Uint8Array,
): Promise<boolean> =>
  (await connection.query(claimWithAnswerStatement, [...claimValues(claim), answer])).length === 1
