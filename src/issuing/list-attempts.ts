import { Problem } from '../errors.ts'
import {
  type AttemptPosition,
  type AttemptRow,
  listAttempts as listStoredAttempts,
} from '../storage/attempts.ts'
import { findCard } from '../storage/cards.ts'
import type { Caller, Issuing } from './issuing.ts'

export type { AttemptPosition }

/** One page of attempts, and where the next one begins if there is one. */
export interface AttemptPage {
  readonly attempts: readonly AttemptRow[]
  readonly next: AttemptPosition | null
}

/** One page of the tries that were spent on the caller's card. @throws `Problem` `card_not_found`. */
export async function listAttempts(
  { database }: Issuing,
  caller: Caller,
  publicToken: string,
  after: AttemptPosition | null,
  limit: number,
): Promise<AttemptPage> {
  const { clientId } = caller
  // One more than asked for tells whether there is a next page.
  const rows = await listStoredAttempts(database, publicToken, clientId, after, limit + 1)
  if (rows.length === 0 && !(await findCard(database, publicToken, clientId))) {
    throw new Problem('card_not_found')
  }
  const attempts = rows.slice(0, limit)
  const last = rows.length > limit ? attempts.at(-1) : undefined
  const next = last ? { at: last.position, kind: last.kind, tryNumber: last.tryNumber } : null
  return { attempts, next }
}
