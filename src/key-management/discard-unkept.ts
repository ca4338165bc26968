import { Problem } from '../errors.ts'
import type { KeptKey } from '../hsm/key-administration.ts'
import { LockTimeout } from '../storage/database.ts'
import { isKeyBlockKept } from '../storage/key-blocks.ts'
import type { KeyManagement } from './key-management.ts'

/** Notes a key that was made for a row that may never be written. */
export type NoteMade = (key: KeptKey) => KeptKey

/**
 * Does work that makes keys. Those that no row names afterwards are destroyed where the HSM keeps keys
 * by itself: what was refused, or was a repeat, leaves nothing in a token.
 */
export async function discardUnkept<Result>(
  keys: KeyManagement,
  work: (made: NoteMade) => Promise<Result>,
): Promise<Result> {
  const made: KeptKey[] = []
  const note: NoteMade = (key) => {
    made.push(key)
    return key
  }
  try {
    const result = await work(note)
    await discard(keys, made)
    return result
  } catch (error) {
    if (!mayBeCommitted(error)) await discard(keys, made)
    throw error
  }
}

/** Of a database that went away nobody knows: a key without a row does no harm, a row without its key does. */
const mayBeCommitted = (error: unknown): boolean =>
  error instanceof Problem && error.code === 'unavailable' && !(error instanceof LockTimeout)

async function discard({ database, hsm }: KeyManagement, made: readonly KeptKey[]): Promise<void> {
  const { discardKey } = hsm.custody
  if (!discardKey) return
  for (const { keyBlock } of made) {
    try {
      if (!(await isKeyBlockKept(database, keyBlock))) await discardKey(keyBlock)
    } catch {
      // It stays, and nothing uses it.
    }
  }
}
