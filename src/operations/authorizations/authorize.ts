import { expiryOfDate } from '../../domain/calendar.ts'
import type { TryKind } from '../../domain/tries.ts'
import type { StoredPin } from '../../hsm/contract/card.ts'
import type { AuthorizedCard } from '../../storage/cards/authorizations.ts'
import { type SpentTry, spendTry } from '../../storage/cards/tries.ts'
import { countWrongExpiry } from '../../storage/cards/wrong-expiries.ts'
import * as idempotency from '../idempotency/idempotency.ts'
import { beginOnce, recordAnswer } from './answer.ts'
import {
  type Authorization,
  type AuthorizationOperations,
  type AuthorizationRequest,
  askHsm,
  type CheckOutcome,
  type ResponseCode,
} from './authorization.ts'
import { type Presented, presentCard } from './present-card.ts'
import { settle } from './settle.ts'

/** An expiry costs no try, or whoever has a PAN could shut the card; so it is watched who guesses at it. */
const guessing = { mistakes: 10, windowSeconds: 86_400 }

/**
 * Answers a card network: the first objection, or approval when nothing decided here objects. A try
 * is spent, and committed, before its value is compared (docs/authorizations.md, "Tries").
 * @throws `Problem` `unavailable` when the database is away; what `beginOnce` throws.
 */
export async function authorize(
  operations: AuthorizationOperations,
  asked: AuthorizationRequest,
  request: idempotency.RepeatableRequest | null,
): Promise<idempotency.Answer<Authorization>> {
  const { database, hsm, observe } = operations
  const keyed = request && (await idempotency.keyedRequest(hsm, request))
  const presented = await presentCard(operations, asked)
  const kinds = kindsToCheck(presented, asked)
  const { begun, claimId, remembered } = await beginOnce(operations, keyed, async (connection) => {
    const [first] = kinds
    // Where none was left when the card was read, none is asked for: a storm of guesses costs reads alone.
    if (!first || !presented.card || remainingTries(presented.card)[first] === 0) return null
    return spendTry(connection, presented.card.publicToken, first, asked)
  })
  const lost = answerOf('96', presented, asked)
  if (remembered && keyed) {
    const { answer } = remembered
    if (answer) return idempotency.replayAnswer(hsm, keyed, { answer, claimId: remembered.claimId })
    // The first result was lost with its process: nothing is spent, and nothing is approved.
    return { ...(await recordAnswer(operations, { keyed, claimId, lost }, lost)), replayed: true }
  }
  if ('isExpiryWrong' in presented) {
    const { entryMode, networkId } = asked
    const wrong = { publicToken: presented.card.publicToken, networkId }
    const isGuessing = await countWrongExpiry(database, wrong, guessing)
    observe.expiryWrong({ ...wrong, entryMode, isGuessing })
  }
  const result = await check(operations, presented, asked, { kinds, firstSpent: begun })
  observe.checked(result)
  return recordAnswer(operations, { keyed, claimId, lost }, result)
}

/** What is to be compared, the PIN first. */
function kindsToCheck(presented: Presented, { cvv2 }: AuthorizationRequest): readonly TryKind[] {
  if (presented.objection !== null) return []
  return [
    ...(presented.pinBlock ? (['pin'] as const) : []),
    ...(cvv2 === undefined ? [] : (['cvv'] as const)),
  ]
}

const remainingTries = ({
  cvvRemaining,
  pinRemaining,
}: AuthorizedCard): Readonly<Record<TryKind, number>> => ({
  pin: pinRemaining,
  cvv: cvvRemaining,
})

/** What a negative outcome answers. */
const objections: Record<TryKind, Partial<Record<CheckOutcome['result'], ResponseCode>>> = {
  pin: { blocked: '75', mismatch: '55', unresolved: '96' },
  cvv: { blocked: 'N7', mismatch: 'N7', unresolved: '96' },
}

/** Compares one kind after the other until one objects. */
async function check(
  operations: AuthorizationOperations,
  presented: Presented,
  asked: AuthorizationRequest,
  { firstSpent, kinds }: { kinds: readonly TryKind[]; firstSpent: SpentTry | null },
): Promise<Authorization> {
  if (presented.objection !== null) return answerOf(presented.objection, presented, asked)
  const { card } = presented
  const outcomes = uncheckedOutcomes(card)
  for (const [index, kind] of kinds.entries()) {
    const spent =
      index === 0 ? firstSpent : await spendTry(operations.database, card.publicToken, kind, asked)
    const outcome = spent
      ? await compareAndSettle(operations, presented, asked, spent)
      : ({ result: 'blocked', remainingTries: 0 } as const)
    outcomes[kind] = outcome
    const objection = objections[kind][outcome.result]
    if (objection) return answerOf(objection, presented, asked, outcomes)
  }
  return answerOf('00', presented, asked, outcomes)
}

async function compareAndSettle(
  operations: AuthorizationOperations,
  { card, pinBlock }: Extract<Presented, { objection: null }>,
  asked: AuthorizationRequest,
  spent: SpentTry,
): Promise<CheckOutcome> {
  const { hsm } = operations
  const { cvv2 } = asked
  const matches = await askHsm(operations, async () => {
    if (spent.kind === 'cvv') {
      const expiry = expiryOfDate(card.expiryDate)
      return cvv2 !== undefined && hsm.verifyCvv2(card, card.cvk, expiry, cvv2)
    }
    return pinBlock !== null && hsm.verifyPin(card, storedPin(card), card.pinLength, pinBlock)
  })
  if (matches === null) return settle(operations, spent, 'unresolved', asked)
  return settle(operations, spent, matches ? 'match' : 'mismatch', asked)
}

function storedPin({ pinBlock, pinKey, pvv }: AuthorizedCard): StoredPin {
  if (pinBlock) return { pinBlock, pvv: null, pinKey }
  if (pvv !== null) return { pinBlock: null, pvv, pinKey }
  throw new Error('A card has no PIN.')
}

type Outcomes = Record<TryKind, CheckOutcome>

function uncheckedOutcomes(card: AuthorizedCard): Outcomes {
  const { cvv, pin } = remainingTries(card)
  return {
    pin: { result: 'not_checked', remainingTries: pin },
    cvv: { result: 'not_checked', remainingTries: cvv },
  }
}

function answerOf(
  responseCode: ResponseCode,
  { card }: Presented,
  { reference }: AuthorizationRequest,
  outcomes: Outcomes | null = card && uncheckedOutcomes(card),
): Authorization {
  return {
    approved: responseCode === '00',
    responseCode,
    ...(card && { publicToken: card.publicToken }),
    reference,
    ...outcomes,
  }
}
