import { randomUUID } from 'node:crypto'
import { Problem } from '../../domain/problem.ts'
import {
  claimAndSpendTry,
  type NewTry,
  type SpentTry,
  spendTry,
} from '../../storage/cards/spend-try.ts'
import { countWrongExpiry, type WrongExpiry } from '../../storage/cards/wrong-expiries.ts'
import { type Connection, LockTimeout } from '../../storage/engine/database.ts'
import type { NewClaim } from '../../storage/idempotency/idempotency.ts'
import {
  claimWithAnswer,
  findRememberedRequest,
  storeAnswer,
} from '../../storage/idempotency/idempotency.ts'
import * as idempotency from '../idempotency/idempotency.ts'
import type {
  Authorization,
  AuthorizationOperations,
  AuthorizationRequest,
} from './authorization.ts'

/** What a question has begun with. */
interface Beginning {
  /** Null where no try was left. */
  readonly spent: SpentTry | null
  /** Null without an idempotency key. */
  readonly claimId: string | null
}

/**
 * Spends the first try of a question. With an idempotency key the key commits with the spend, so that no repeat
 * ever spends again (docs/authorizations.md, "Repeats").
 * @returns null where the key was not free, and nothing was spent.
 */
export async function spendOnce(
  { database }: AuthorizationOperations,
  keyed: idempotency.KeyedRequest | null,
  tried: NewTry,
  asked: AuthorizationRequest,
): Promise<Beginning | null> {
  if (!keyed) return { spent: await spendTry(database, tried, asked), claimId: null }
  const claim = newClaim(keyed)
  if (!claim) {
    return database.transaction(async (connection) => {
      const claimId = await idempotency.claimKey(connection, keyed)
      return claimId === null ? null : { spent: await spendTry(connection, tried, asked), claimId }
    })
  }
  try {
    const begun = await claimAndSpendTry(database, claim, tried, asked)
    return begun && { ...begun, claimId: claim.claimId }
  } catch (error) {
    // Either the key or the counter was waited for: the key, where by now somebody has it.
    const isTimeout = error instanceof LockTimeout
    if (isTimeout && (await findRememberedRequest(database, keyed, keyed.fingerprints))) return null
    throw error
  }
}

/** A claim to be made in one statement; null under several hashes, while their key is being replaced. */
function newClaim(keyed: idempotency.KeyedRequest): NewClaim | null {
  const { clientId, fingerprints, keyHashes } = keyed
  if (keyHashes.length > 1) return null
  const [keyHash] = keyHashes
  return { clientId, keyHash, claimId: randomUUID(), requestFingerprint: fingerprints[0] }
}

/** An expiry costs no try, or whoever has a PAN could shut the card; so it is watched who guesses at it. */
const guessing = { mistakes: 10, windowSeconds: 86_400 }

/**
 * Begins and ends a question that spends nothing: its claim commits with its answer, and a wrong expiry is
 * counted with them.
 * @returns null where the key was not free, and nothing was done.
 */
export async function answerUnspent(
  { database, hsm, observe }: AuthorizationOperations,
  keyed: idempotency.KeyedRequest | null,
  result: Authorization,
  wrongExpiry: (WrongExpiry & Pick<AuthorizationRequest, 'entryMode'>) | null,
): Promise<idempotency.Answer<Authorization> | null> {
  const record = async (connection: Connection): Promise<{ isGuessing: boolean } | null> => {
    if (keyed && !(await claimAnswered(hsm, connection, keyed, result))) return null
    const isGuessing = wrongExpiry && (await countWrongExpiry(connection, wrongExpiry, guessing))
    return { isGuessing: isGuessing ?? false }
  }
  const isOneStatement = !wrongExpiry && keyed?.keyHashes.length === 1
  const recorded = await (isOneStatement || !keyed
    ? record(database)
    : database.transaction(record))
  if (!recorded) return null
  if (wrongExpiry) observe.expiryWrong({ ...wrongExpiry, ...recorded })
  observe.checked(result)
  observe.answered(result)
  return { result, replayed: false }
}

/** Claims a key and keeps its answer. @returns whether the key was free. */
async function claimAnswered(
  hsm: AuthorizationOperations['hsm'],
  connection: Connection,
  keyed: idempotency.KeyedRequest,
  result: Authorization,
): Promise<boolean> {
  const claim = newClaim(keyed)
  const claimId = claim ? claim.claimId : await idempotency.claimKey(connection, keyed)
  if (claimId === null) return false
  const answer = await idempotency.sealAnswer(hsm, keyed, claimId, result)
  if (!claim) {
    await storeAnswer(connection, keyed, claimId, answer)
    return true
  }
  try {
    return await claimWithAnswer(connection, claim, answer)
  } catch (error) {
    if (error instanceof LockTimeout) throw new Problem('idempotency_key_in_use', { cause: error })
    throw error
  }
}
