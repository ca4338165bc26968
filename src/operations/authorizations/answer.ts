import { setTimeout as wait } from 'node:timers/promises'
import { Problem } from '../../domain/problem.ts'
import type { Connection } from '../../storage/engine/database.ts'
import { type RememberedRequest, storeAnswer } from '../../storage/idempotency/idempotency.ts'
import * as idempotency from '../idempotency/idempotency.ts'
import type { Authorization, AuthorizationOperations } from './authorization.ts'

/** What a first request has begun with, or what is remembered of the one before. */
interface Beginning<Begun> {
  /** Null where nothing was begun. */
  readonly begun: Begun | null
  readonly remembered: RememberedRequest | null
  /** Under which the answer is to be recorded; null without an idempotency key. */
  readonly claimId: string | null
}

/** How long a repeat waits for the first request to be answered. */
const waitMs = 2_000
const lookEveryMs = 100
/** A request that has not answered by then was lost with its process. */
const lostAfterSeconds = 30

/**
 * Begins a request. With an idempotency key the key commits with what is begun, so that no repeat
 * ever begins again (docs/authorizations.md, "Repeats").
 * @throws `Problem` `idempotency_key_reused`, `idempotency_key_in_use`.
 */
export async function beginOnce<Begun>(
  { database }: AuthorizationOperations,
  keyed: idempotency.KeyedRequest | null,
  begin: (connection: Connection) => Promise<Begun | null>,
): Promise<Beginning<Begun>> {
  if (!keyed) return { begun: await begin(database), remembered: null, claimId: null }
  const beginning = await database.transaction(async (connection) => {
    const claimId = await idempotency.claimKey(connection, keyed)
    if (claimId !== null) return { begun: await begin(connection), remembered: null, claimId }
    return {
      begun: null,
      remembered: await idempotency.findRemembered(connection, keyed),
      claimId: null,
    }
  })
  if (beginning.claimId !== null) return beginning
  let { remembered } = beginning
  for (let waitedMs = 0; waitedMs < waitMs; waitedMs += lookEveryMs) {
    if (!remembered) throw new Problem('idempotency_key_reused')
    if (remembered.answer || remembered.ageSeconds >= lostAfterSeconds) {
      return { begun: null, remembered, claimId: remembered.claimId }
    }
    await wait(lookEveryMs)
    remembered = await idempotency.findRemembered(database, keyed)
  }
  throw new Problem('idempotency_key_in_use')
}

/** How an answer is recorded, and what is answered where that cannot be. */
interface Recorder {
  readonly keyed: idempotency.KeyedRequest | null
  readonly claimId: string | null
  readonly lost: Authorization
}

/**
 * Records an answer unless one is recorded: the first is what everybody gets. So a request that was
 * merely slow, and whose repeat took it for lost, has one answer.
 */
export async function recordAnswer(
  { database, hsm, observe }: AuthorizationOperations,
  { claimId, keyed, lost }: Recorder,
  result: Authorization,
): Promise<idempotency.Answer<Authorization>> {
  let first = result
  if (keyed && claimId !== null) {
    const sealed = await idempotency.sealAnswer(hsm, keyed, claimId, result)
    const stored = await storeAnswer(database, keyed, claimId, sealed)
    if (stored && !stored.isOwn) {
      return idempotency.replayAnswer(hsm, keyed, { answer: stored.answer, claimId })
    }
    // Without a row its key has been forgotten, and nobody knows what its repeats were answered.
    if (!stored) first = lost
  }
  observe.answered(first)
  return { result: first, replayed: false }
}
