import type { Hsm } from '../hsm/hsm.ts'
import type { Database } from '../storage/database.ts'
import { once } from './once.ts'
import type { Answer, RepeatableRequest } from './remembered.ts'

const unanswered = new Error('This request has not been answered yet.')

/**
 * The first answer to a request that was answered already, or null. For an act that has long work to do
 * before its transaction: a repeat is spared it. What `once` says afterwards is what counts.
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
