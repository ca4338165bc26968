import { setTimeout as wait } from 'node:timers/promises'
import { Problem } from '../errors.ts'
import { claimKey, findRemembered, type KeyedRequest } from '../idempotency/remembered.ts'
import type { SpentTry } from '../storage/attempts.ts'
import type { Connection } from '../storage/database.ts'
import type { RememberedRequest } from '../storage/idempotency.ts'
import type { Authorizing } from './authorizing.ts'

/** A first try that was spent, if one was due; or what is remembered of the same request. */
export interface Beginning {
  readonly spent: SpentTry | null
  readonly remembered: RememberedRequest | null
  /** Under which the answer is to be recorded; null without an idempotency key. */
  readonly claimId: string | null
}

/** How long a repeat waits for the first one to finish. */
const waitMs = 2_000
const lookEveryMs = 100
/** A request that has not answered by then was lost with its process. */
const lostAfterSeconds = 30

/**
 * Spends the first try. With an idempotency key the key commits with the spend, so that no repeat
 * ever spends again (contract, section 4).
 * @throws `Problem` `idempotency_key_reused`, `idempotency_key_in_use`.
 */
export async function begin(
  authorizing: Authorizing,
  request: KeyedRequest | null,
  spend: (connection: Connection) => Promise<SpentTry | null>,
): Promise<Beginning> {
  const { database } = authorizing
  if (!request) return { spent: await spend(database), remembered: null, claimId: null }
  const beginning = await claimOrRecall(authorizing, request, spend)
  if (!beginning.remembered) return beginning
  return awaitAnswer(authorizing, request, beginning.remembered)
}

async function claimOrRecall(
  { database }: Authorizing,
  request: KeyedRequest,
  spend: (connection: Connection) => Promise<SpentTry | null>,
): Promise<Beginning> {
  const beginning = await database.transaction(async (connection) => {
    const claimId = await claimKey(connection, request)
    if (claimId !== null) return { spent: await spend(connection), remembered: null, claimId }
    const remembered = await findRemembered(connection, request)
    return remembered && { spent: null, remembered, claimId: remembered.claimId }
  })
  if (!beginning) throw new Problem('idempotency_key_reused')
  return beginning
}

async function awaitAnswer(
  { database }: Authorizing,
  request: KeyedRequest,
  first: RememberedRequest,
): Promise<Beginning> {
  let remembered: RememberedRequest | null = first
  for (let waitedMs = 0; waitedMs < waitMs; waitedMs += lookEveryMs) {
    if (!remembered) throw new Problem('idempotency_key_reused')
    if (remembered.answer || remembered.ageSeconds >= lostAfterSeconds) {
      return { spent: null, remembered, claimId: remembered.claimId }
    }
    await wait(lookEveryMs)
    remembered = await findRemembered(database, request)
  }
  throw new Problem('idempotency_key_in_use')
}
