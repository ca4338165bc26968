import { randomUUID } from 'node:crypto'
import { guessing } from '../../domain/guessing.ts'
import { Problem } from '../../domain/problem.ts'
import { isApprovalCode } from '../../domain/response-code.ts'
import type { NewSpending } from '../../storage/authorizations/applied-controls.ts'
import type { AuthorizedCard } from '../../storage/authorizations/begin.ts'
import type { MistakeKind } from '../../storage/authorizations/mistakes.ts'
import {
  type Answered,
  type AnsweredAuthorization,
  answerAuthorization,
  answerUnknownCard,
} from '../../storage/authorizations/settle.ts'
import { LockTimeout } from '../../storage/engine/database.ts'
import { newEventId } from '../../storage/events/events.ts'
import {
  type Claim,
  findRememberedRequest,
  storeAnswer,
} from '../../storage/idempotency/idempotency.ts'
import { declineReplayedChip } from '../chips/read-chip.ts'
import * as idempotency from '../idempotency/idempotency.ts'
import type {
  Authorization,
  AuthorizationContext,
  AuthorizationRequest,
  PreparedDecision,
  ProposedApproval,
} from './authorization.ts'
import { answerChip, toChipUse } from './chip.ts'
import {
  composeAnswer,
  selectVerdict,
  toAnsweredAuthorization,
  toFlagged,
} from './compose-answer.ts'
import type { TracedRequest } from './trace.ts'

/**
 * Composes the claim of a request's key.
 * @param answer null until it is known.
 */
export const createClaim = (
  keyed: idempotency.KeyedRequest,
  claimId: string = randomUUID(),
  answer: Uint8Array | null = null,
): Claim => ({ ...keyed, requestFingerprint: keyed.fingerprints[0], claimId, answer })

/** The answer and the card of a request that spent no try. */
interface Unspent {
  readonly result: Authorization
  readonly card: AuthorizedCard | null
  readonly mistake: MistakeKind | null
  /** The amounts that an approval takes from limits. */
  readonly spending?: NewSpending | null
}

/**
 * Answers a request that spends no try: its claim, its answer and its record commit together, and a
 * mistake is counted with them.
 * @returns null if the key was not free, and nothing was done.
 * @throws `Problem` `idempotency_key_in_use`.
 */
export async function answerUnspent(
  context: AuthorizationContext,
  keyed: idempotency.KeyedRequest | null,
  traced: TracedRequest,
  { card, mistake, result: plain, spending = null }: Unspent,
): Promise<idempotency.Answer<Authorization> | null> {
  if (!card) return answerUnknown(context, keyed, traced, plain)
  const foreseen = toAnsweredAuthorization(traced, card, plain, spending)
  const reserving = keyed && createClaim(keyed)
  const approval = { card, answer: plain, record: foreseen, spending }
  const prepared = await prepareDecision(context, traced, approval, reserving)
  const result = prepared ? plain : await answerChip(traced, plain)
  const claim = prepared ? reserving : keyed && (await createAnsweredClaim(context, keyed, result))
  const record = {
    ...foreseen,
    chip: toChipUse(traced.presentedChip),
    decision: prepared?.reservation ?? null,
  }
  const answered = await waitForKey(context, keyed, () =>
    recordUnspent(context, record, claim, mistake),
  )
  if (answered.isReversed) return answerReversed(context, keyed, traced, card)
  if (answered.isReplayed) return answerReplayed(context, keyed, traced, card)
  if (!answered.isAnswered) return null
  if (prepared && answered.reserved !== null) {
    context.observe.checked(result)
    const answerDecided = (decided: Authorization) => answerChip(traced, decided)
    return { result: await prepared.decide(answered.reserved, answerDecided), replayed: false }
  }
  if (answered.limitCode !== null || answered.isFlagged) {
    return answerOtherwise(context, keyed, traced, { answered, card, claim, record })
  }
  context.observe.checked(result)
  context.observe.answered(result)
  return { result, replayed: false }
}

/** Answers as the commit found: a limit refused the approval, or an increment raised nothing. */
async function answerOtherwise(
  context: AuthorizationContext,
  keyed: idempotency.KeyedRequest | null,
  traced: TracedRequest,
  found: {
    readonly answered: Answered
    readonly card: AuthorizedCard
    readonly claim: Claim | null
    readonly record: Pick<AnsweredAuthorization, 'authorizationId'>
  },
): Promise<idempotency.Answer<Authorization>> {
  const { answered, card, claim, record } = found
  const { authorizationId } = record
  const lost = composeAnswer('96', card, traced, authorizationId)
  const asked = answered.isFlagged ? toFlagged(traced) : traced
  const actual = composeAnswer(selectVerdict(answered, '00'), card, asked, authorizationId)
  context.observe.checked(actual)
  const claimId = claim?.claimId ?? null
  const final = await answerChip(traced, actual)
  return storeFirstAnswer(context, { keyed, claimId, lost }, final)
}

/** Answers a request about an unknown card, which has no record. Null: its key was not free. */
async function answerUnknown(
  context: AuthorizationContext,
  keyed: idempotency.KeyedRequest | null,
  { networkId }: TracedRequest,
  result: Authorization,
): Promise<idempotency.Answer<Authorization> | null> {
  const claim = keyed && (await createAnsweredClaim(context, keyed, result))
  const isAnswered =
    !claim ||
    (await waitForKey(context, keyed, () => answerUnknownCard(context.database, networkId, claim)))
  if (!isAnswered) return null
  context.observe.checked(result)
  context.observe.answered(result)
  return { result, replayed: false }
}

/** Prepares the decision of the card's client about an approval; null if it does not decide. */
export async function prepareDecision(
  { decisions }: AuthorizationContext,
  request: TracedRequest,
  approval: Omit<ProposedApproval, 'request' | 'claim'>,
  claim: Claim | null,
): Promise<PreparedDecision | null> {
  if (!decisions || !isApprovalCode(approval.answer.responseCode)) return null
  return decisions.prepare({ request, ...approval, claim })
}

/**
 * Runs what claims the key of a request.
 * @throws `Problem` `idempotency_key_in_use`.
 */
async function waitForKey<Result>(
  { database }: AuthorizationContext,
  keyed: idempotency.KeyedRequest | null,
  claim: () => Promise<Result>,
): Promise<Result> {
  try {
    return await claim()
  } catch (error) {
    // The lock was that of the card or of the key: of the key, if another request has it by now.
    const isInUse =
      keyed !== null &&
      error instanceof LockTimeout &&
      (await findRememberedRequest(database, keyed, keyed.fingerprints)) !== null
    throw isInUse ? new Problem('idempotency_key_in_use', { cause: error }) : error
  }
}

/** Records an answer, and counts and reports a mistake. */
async function recordUnspent(
  { database, observe }: AuthorizationContext,
  record: AnsweredAuthorization & Pick<AuthorizationRequest, 'entryMode'>,
  claim: Claim | null,
  mistake: MistakeKind | null,
): Promise<Answered> {
  const threshold = mistake && { ...guessing, kind: mistake }
  const answered = await answerAuthorization(database, record, claim, threshold)
  if (mistake && answered.isAnswered) {
    const { entryMode, networkId, publicToken } = record
    const { isGuessing } = answered
    observe.mistakeCounted({ kind: mistake, publicToken, networkId, entryMode, isGuessing })
  }
  return answered
}

/** Declines an approval whose reversal came first. */
const answerReversed = (
  context: AuthorizationContext,
  keyed: idempotency.KeyedRequest | null,
  traced: TracedRequest,
  card: AuthorizedCard,
): Promise<idempotency.Answer<Authorization> | null> => {
  const result = composeAnswer('94', card, traced, newEventId())
  return answerUnspent(context, keyed, traced, { result, card, mistake: null })
}

/** Declines a request whose cryptogram another request used first. */
function answerReplayed(
  context: AuthorizationContext,
  keyed: idempotency.KeyedRequest | null,
  traced: TracedRequest,
  card: AuthorizedCard,
): Promise<idempotency.Answer<Authorization> | null> {
  const { presentedChip, trail } = traced
  if (!presentedChip) throw new Error('A request without a chip was replayed.')
  const replayed = declineReplayedChip(presentedChip)
  const asked = { ...traced, presentedChip: replayed }
  const [first] = presentedChip.checks
  if (first) trail.rewindTo(first.check)
  for (const check of replayed.checks) trail.note(check)
  const result = composeAnswer('88', card, asked, newEventId())
  return answerUnspent(context, keyed, asked, { result, card, mistake: null })
}

async function createAnsweredClaim(
  { hsm }: AuthorizationContext,
  keyed: idempotency.KeyedRequest,
  result: Authorization,
): Promise<Claim> {
  const claimId = randomUUID()
  return createClaim(keyed, claimId, await idempotency.sealAnswer(hsm, keyed, claimId, result))
}

/** Where an answer is stored, and the answer if it cannot be stored. */
export interface AnswerClaim {
  readonly keyed: idempotency.KeyedRequest | null
  /** The claim of the answer; null without an idempotency key. */
  readonly claimId: string | null
  readonly lost: Authorization
}

/**
 * Stores an answer unless one is stored already: every repeat gets the first answer. So a slow
 * request and a repeat that considered it lost return the same answer.
 */
export async function storeFirstAnswer(
  { database, hsm, observe }: AuthorizationContext,
  { claimId, keyed, lost }: AnswerClaim,
  result: Authorization,
): Promise<idempotency.Answer<Authorization>> {
  let first = result
  if (keyed && claimId !== null) {
    const sealed = await idempotency.sealAnswer(hsm, keyed, claimId, result)
    const stored = await storeAnswer(database, keyed, claimId, sealed)
    if (stored && !stored.isOwn) {
      return idempotency.replayAnswer(hsm, keyed, { answer: stored.answer, claimId })
    }
    // Without a row, the key was deleted, and the answer of its repeats is unknown.
    if (!stored) {
      const { authorizationId } = result
      first = { ...lost, ...(authorizationId !== undefined && { authorizationId }) }
    }
  }
  observe.answered(first)
  return { result: first, replayed: false }
}
