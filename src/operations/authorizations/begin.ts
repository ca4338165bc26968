import { randomUUID } from 'node:crypto'
import { Problem } from '../../domain/problem.ts'
import {
  type NewAuthorizationRecord,
  recordAuthorization,
  rememberAndRecord,
} from '../../storage/cards/new-authorizations.ts'
import { type NewTry, type SpentTry, spendTry } from '../../storage/cards/spend-try.ts'
import { countWrongExpiry, type WrongExpiry } from '../../storage/cards/wrong-expiries.ts'
import { type Connection, LockTimeout } from '../../storage/engine/database.ts'
import {
  type Claim,
  findRememberedRequest,
  rememberAnswer,
} from '../../storage/idempotency/idempotency.ts'
import * as idempotency from '../idempotency/idempotency.ts'
import type { Authorization, AuthorizationContext, AuthorizationRequest } from './authorization.ts'

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
  { database }: AuthorizationContext,
  keyed: idempotency.KeyedRequest | null,
  tried: NewTry,
  asked: AuthorizationRequest,
): Promise<Beginning | null> {
  const claim = keyed && newClaim(keyed)
  try {
    const begun = await spendTry(database, tried, asked, claim)
    return begun && { ...begun, claimId: claim?.claimId ?? null }
  } catch (error) {
    // Either the key or the counter was waited for: the key, where by now somebody has it.
    const isTimeout = keyed !== null && error instanceof LockTimeout
    if (isTimeout && (await findRememberedRequest(database, keyed, keyed.fingerprints))) return null
    throw error
  }
}

const newClaim = (keyed: idempotency.KeyedRequest): Claim => ({
  ...keyed,
  requestFingerprint: keyed.fingerprints[0],
  claimId: randomUUID(),
  answer: null,
})

/** An expiry costs no try, or whoever has a PAN could shut the card; so it is watched who guesses at it. */
const guessing = { mistakes: 10, windowSeconds: 86_400 }

/** A question that spends nothing. */
interface Unspent {
  readonly result: Authorization
  /** Null where no card is known that it was about. */
  readonly record: NewAuthorizationRecord | null
  readonly wrongExpiry: (WrongExpiry & Pick<AuthorizationRequest, 'entryMode'>) | null
}

/**
 * Begins and ends a question that spends nothing: its claim commits with its answer and its record, and a wrong expiry
 * is counted with them.
 * @returns null where the key was not free, and nothing was done.
 */
export async function answerUnspent(
  { database, hsm, observe }: AuthorizationContext,
  keyed: idempotency.KeyedRequest | null,
  { record, result, wrongExpiry }: Unspent,
): Promise<idempotency.Answer<Authorization> | null> {
  const commit = async (connection: Connection): Promise<{ isGuessing: boolean }> => {
    const answered = { record, result }
    if (keyed && !(await claimAnswered(hsm, connection, keyed, answered))) throw keyTaken
    const isGuessing =
      wrongExpiry &&
      (await countWrongExpiry(connection, wrongExpiry, guessing, keyed ? null : record))
    if (!keyed && !wrongExpiry && record) await recordAuthorization(database, record)
    return { isGuessing: isGuessing ?? false }
  }
  try {
    const recorded = await (keyed && wrongExpiry ? database.transaction(commit) : commit(database))
    if (wrongExpiry) observe.expiryWrong({ ...wrongExpiry, ...recorded })
  } catch (error) {
    if (error === keyTaken) return null
    throw error
  }
  observe.checked(result)
  observe.answered(result)
  return { result, replayed: false }
}

/** What the transaction is undone for. */
const keyTaken = new Error('The key was not free.')

/** Claims a key and keeps its answer and its record. @returns whether the key was free. */
async function claimAnswered(
  hsm: AuthorizationContext['hsm'],
  connection: Connection,
  keyed: idempotency.KeyedRequest,
  { record, result }: Pick<Unspent, 'record' | 'result'>,
): Promise<boolean> {
  const claim = newClaim(keyed)
  const answer = await idempotency.sealAnswer(hsm, keyed, claim.claimId, result)
  try {
    const answered = { ...claim, answer }
    return await (record
      ? rememberAndRecord(connection, answered, record)
      : rememberAnswer(connection, answered))
  } catch (error) {
    if (error instanceof LockTimeout) throw new Problem('idempotency_key_in_use', { cause: error })
    throw error
  }
}
