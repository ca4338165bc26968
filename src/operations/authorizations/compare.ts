import { toExpiry } from '../../domain/calendar.ts'
import { type DeclineCode, type TryOutcome, tryObjections } from '../../domain/response-code.ts'
import type { TryKind } from '../../domain/tries.ts'
import type { StoredPin } from '../../hsm/contract/card.ts'
import type { OpenedPinBlock } from '../../hsm/contract/hsm.ts'
import { callHsm } from '../../hsm/contract/outage.ts'
import type {
  AuthorizationOrigin,
  AuthorizedCard,
  SpentTry,
} from '../../storage/authorizations/begin.ts'
import {
  answerAuthorization,
  type Comparison,
  type ForeseenAnswer,
  settleAuthorization,
  settleMatchAndSpend,
} from '../../storage/authorizations/settle.ts'
import { newEventId } from '../../storage/events/events.ts'
import type { Claim } from '../../storage/idempotency/idempotency.ts'
import * as idempotency from '../idempotency/idempotency.ts'
import { type AnswerClaim, createClaim, prepareDecision, storeFirstAnswer } from './answer.ts'
import type { Authorization, AuthorizationContext, AuthorizationRequest } from './authorization.ts'
import { answerChip } from './chip.ts'
import {
  composeAnswer,
  type Outcomes,
  selectVerdict,
  toAnsweredAuthorization,
  toFlagged,
  uncheckedOutcomes,
  type Verdict,
} from './compose-answer.ts'
import { meetLimits } from './controls.ts'
import type { TracedRequest } from './trace.ts'

/** Lists the values of a request to compare, in order. */
export const listKinds = ({ cvv2, pinBlock }: AuthorizationRequest): TryKind[] => [
  ...(pinBlock ? (['pin'] as const) : []),
  ...(cvv2 === undefined ? [] : (['cvv'] as const)),
]

/** Selects the members of a request that are recorded with a try. */
export const pickOrigin = ({
  entryMode,
  networkId,
  reference,
  requestId,
  transaction,
}: AuthorizationRequest): AuthorizationOrigin => ({
  networkId,
  requestId,
  reference,
  entryMode,
  transaction,
})

const checksByKind = { pin: 'pin', cvv: 'cvv2' } as const
const resultsByOutcome = {
  match: 'passed',
  mismatch: 'failed',
  unresolved: 'unresolved',
  blocked: 'blocked',
} as const

const findObjection = (kind: TryKind, outcome: TryOutcome): DeclineCode | undefined =>
  outcome === 'match' ? undefined : tryObjections[kind][outcome]

/** Notes the outcome of a PIN or CVV2. */
const noteTry = (
  { trail }: TracedRequest,
  kind: TryKind,
  outcome: TryOutcome,
  numbers: { readonly tryNumber?: number; readonly remainingTries?: number },
): void =>
  trail.note({
    check: checksByKind[kind],
    result: resultsByOutcome[outcome],
    responseCode: findObjection(kind, outcome),
    ...numbers,
  })

/** Composes the answer if a kind has no try left. Nothing is compared then. */
export function composeBlockedAnswer(
  traced: TracedRequest,
  { authorizationId, card }: Pick<Triable, 'authorizationId' | 'card'>,
  kind: TryKind,
  outcomes: Outcomes,
): Authorization {
  noteTry(traced, kind, 'blocked', { remainingTries: 0 })
  const blocked = { result: 'blocked', remainingTries: 0 } as const
  const found = { ...outcomes, [kind]: blocked }
  return composeAnswer(tryObjections[kind].blocked, card, traced, authorizationId, found)
}

/** Answers a request after concurrent requests spent the last try. Its key is already claimed. */
export async function answerBlocked(
  context: AuthorizationContext,
  traced: TracedRequest,
  card: AuthorizedCard,
  answerClaim: AnswerClaim,
  result: Authorization,
): Promise<idempotency.Answer<Authorization>> {
  context.observe.checked(result)
  const record = toAnsweredAuthorization(traced, card, result)
  const answered = await answerChip(traced, result)
  // Concurrently, which is faster.
  const [answer] = await Promise.all([
    storeFirstAnswer(context, answerClaim, answered),
    answerAuthorization(context.database, record, null),
  ])
  return answer
}

/** An authorization whose first try is spent. */
interface Triable {
  readonly card: AuthorizedCard
  readonly spent: SpentTry
  readonly authorizationId: string
  /** Null where the request has no PIN block. */
  readonly opened: OpenedPinBlock | null
}

/** Compares one kind after the other until one objects. */
export async function compareAll(
  context: AuthorizationContext,
  traced: TracedRequest,
  begun: Triable,
  answerClaim: AnswerClaim,
): Promise<idempotency.Answer<Authorization>> {
  const { card } = begun
  const kinds = listKinds(traced)
  let { authorizationId, spent } = begun
  let outcomes = uncheckedOutcomes(card)
  for (;;) {
    const comparison = await compare(context, traced, begun, spent.kind)
    const { kind, tryNumber } = spent
    const next = kinds[kinds.indexOf(kind) + 1]
    if (comparison !== 'match' || !next) {
      noteTry(traced, kind, comparison, { tryNumber })
      const last = { spent, comparison, authorizationId, outcomes, card }
      return settleAndAnswer(context, traced, last, answerClaim)
    }
    const { clientId } = card
    const following = { clientId, kind: next, authorizationId: newEventId() }
    const origin = pickOrigin(traced)
    const tried = { spent, authorizationId }
    const settled = await settleMatchAndSpend(context.database, tried, following, origin)
    const { remaining: remainingTries } = settled
    noteTry(traced, kind, comparison, { tryNumber, remainingTries })
    outcomes = { ...outcomes, [kind]: { result: comparison, remainingTries } }
    if (!settled.spent) {
      const { authorizationId } = following
      const result = composeBlockedAnswer(traced, { authorizationId, card }, next, outcomes)
      return answerBlocked(context, traced, card, answerClaim, result)
    }
    spent = settled.spent
    authorizationId = following.authorizationId
  }
}

async function compare(
  context: AuthorizationContext,
  { cvv2 }: AuthorizationRequest,
  { card, opened }: Triable,
  kind: TryKind,
): Promise<Comparison> {
  const { hsm } = context
  const matches = await callHsm(context, async () => {
    if (kind === 'cvv') {
      const expiry = toExpiry(card.expiryDate)
      return cvv2 !== undefined && hsm.verifyCvv2(card, card.cvk, expiry, cvv2)
    }
    return opened !== null && hsm.verifyPin(card, storedPin(card), card.pinLength, opened)
  })
  if (matches === null) return 'unresolved'
  return matches ? 'match' : 'mismatch'
}

function storedPin({ pinBlock, pinKey, pvv }: AuthorizedCard): StoredPin {
  if (pinBlock) return { pinBlock, pvv: null, pinKey }
  if (pvv !== null) return { pinBlock: null, pvv, pinKey }
  throw new Error('A card has no PIN.')
}

/** The last try of an authorization, with its comparison. */
interface LastTry {
  readonly spent: SpentTry
  readonly comparison: Comparison
  readonly authorizationId: string
  readonly outcomes: Outcomes
  readonly card: AuthorizedCard
}

/**
 * Settles the last try: its result, the restored tries, its events, its record and the answer
 * commit together (docs/reference/authorizations.md, "Tries", rules 2, 3, 4 and 7).
 */
async function settleAndAnswer(
  context: AuthorizationContext,
  traced: TracedRequest,
  { authorizationId, card, comparison, outcomes, spent }: LastTry,
  answerClaim: AnswerClaim,
): Promise<idempotency.Answer<Authorization>> {
  const { database, hsm, observe } = context
  const { kind, remaining } = spent
  const tryObjection = findObjection(kind, comparison)
  // Limits come last: a wrong PIN reserves nothing.
  const limits = tryObjection === undefined ? meetLimits(traced, card) : null
  const foreseenVerdict = tryObjection ?? limits?.verdict ?? '00'
  const answer = (remainingTries: number, verdict: Verdict, asked = traced): Authorization =>
    composeAnswer(verdict, card, asked, authorizationId, {
      ...outcomes,
      [kind]: { result: comparison, remainingTries },
    })
  const limit = kind === 'pin' ? card.pinLimit : card.cvvLimit
  // The number of remaining tries if no other request tries the card at the same time.
  const foreseen = { match: limit, mismatch: remaining, unresolved: remaining + 1 }[comparison]
  const foreseenAnswer = answer(foreseen, foreseenVerdict)
  const spending = limits?.spending ?? null
  const record = toAnsweredAuthorization(traced, card, foreseenAnswer, spending)
  const approval = { card, answer: foreseenAnswer, record, spending }
  const reserving = claimOf(answerClaim)
  const prepared = await prepareDecision(context, traced, approval, reserving)
  const sealed = prepared
    ? openAnswer(reserving, foreseen)
    : await sealForeseen(context, answerClaim, foreseen, await answerChip(traced, foreseenAnswer))
  const decision = prepared?.reservation ?? null
  const tried = { spent, comparison }
  const settled = await settleAuthorization(database, tried, { ...record, decision }, sealed)
  if (prepared && settled.reserved !== null) {
    observe.checked(answer(settled.remaining, foreseenVerdict))
    const answerDecided = (decided: Authorization) => answerChip(traced, decided)
    return { result: await prepared.decide(settled.reserved, answerDecided), replayed: false }
  }
  const verdict = settled.isReversed ? '94' : selectVerdict(settled, foreseenVerdict)
  const asked = settled.isFlagged ? toFlagged(traced) : traced
  const result = await answerChip(traced, answer(settled.remaining, verdict, asked))
  observe.checked(result)
  if (!sealed || !answerClaim.keyed || !settled.answer)
    return storeFirstAnswer(context, answerClaim, result)
  if (!settled.isOwn) {
    const { claimId } = sealed
    return idempotency.replayAnswer(hsm, answerClaim.keyed, { answer: settled.answer, claimId })
  }
  observe.answered(result)
  return { result, replayed: false }
}

/** The claim of a request's key, as it was made when the try was spent; null without a key. */
const claimOf = ({ claimId, keyed }: AnswerClaim): Claim | null =>
  keyed && claimId !== null ? createClaim(keyed, claimId) : null

/** Names the key of an approval that the card's client decides: its answer is not known yet. */
const openAnswer = (claim: Claim | null, remaining: number): ForeseenAnswer | null =>
  claim && {
    clientId: claim.clientId,
    keyHash: claim.keyHashes[0],
    claimId: claim.claimId,
    answer: null,
    remaining,
  }

/**
 * Seals the answer for the case that no concurrent request changes the remaining tries, and that no
 * limit refuses; otherwise it is stored separately. With several hashes, while their key is
 * rotated, it is always stored separately.
 */
async function sealForeseen(
  { hsm }: AuthorizationContext,
  { claimId, keyed }: AnswerClaim,
  remaining: number,
  result: Authorization,
): Promise<ForeseenAnswer | null> {
  if (!keyed || claimId === null || keyed.keyHashes.length > 1) return null
  const { clientId, keyHashes } = keyed
  const answer = await idempotency.sealAnswer(hsm, keyed, claimId, result)
  return { clientId, keyHash: keyHashes[0], claimId, answer, remaining }
}
