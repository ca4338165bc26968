import type { AuthorizationCheck } from '../../domain/authorization-check.ts'
import { expiryOfDate } from '../../domain/calendar.ts'
import type { TryKind } from '../../domain/tries.ts'
import type { StoredPin } from '../../hsm/contract/card.ts'
import type { AuthorizedCard } from '../../storage/cards/authorizations.ts'
import { recordAuthorization } from '../../storage/cards/new-authorizations.ts'
import type { Comparison } from '../../storage/cards/settle-try.ts'
import type { SpentTry } from '../../storage/cards/spend-try.ts'
import * as idempotency from '../idempotency/idempotency.ts'
import { answerRepeat, type Recorder, recordAnswer } from './answer.ts'
import {
  type Authorization,
  type AuthorizationContext,
  type AuthorizationRequest,
  askHsm,
  type CheckOutcome,
  type ResponseCode,
} from './authorization.ts'
import { answerUnspent, spendOnce } from './begin.ts'
import { recordOf, type TracedQuestion, traced } from './checks.ts'
import { type Presentable, type Presented, presentCard } from './present-card.ts'
import { settleAndAnswer, settleAndGoOn } from './settle.ts'

/**
 * Answers a card network: the first objection, or approval when nothing decided here objects. A try
 * is spent, and committed, before its value is compared (docs/authorizations.md, "Tries").
 * @throws `Problem` `unavailable` when the database is away; what `answerRepeat` throws.
 */
export async function authorize(
  context: AuthorizationContext,
  request: AuthorizationRequest,
  repeatable: idempotency.RepeatableRequest | null,
): Promise<idempotency.Answer<Authorization>> {
  const asked = traced(request)
  const keyed = repeatable && (await idempotency.keyedRequest(context.hsm, repeatable))
  const presented = await presentCard(context, asked)
  const answered = await answerFirst(context, presented, asked, keyed)
  if (answered) return answered
  if (!keyed) throw new Error('A question without a key was not the first.')
  // Of a repeat nothing else decides: what it came by before its key was found taken is not on record.
  const repeat = traced(request)
  repeat.trail.note({ check: 'answer', result: 'unresolved', responseCode: '96' })
  const record = presented.card && recordOf(repeat, presented.card, '96')
  return answerRepeat(context, keyed, { lost: answerOf('96', presented, asked), record })
}

/** The answer, or null where the key was not free: nothing was spent then, and nothing is answered yet. */
async function answerFirst(
  context: AuthorizationContext,
  presented: Presented,
  asked: TracedQuestion,
  keyed: idempotency.KeyedRequest | null,
): Promise<idempotency.Answer<Authorization> | null> {
  if (presented.objection !== null) {
    const { card, objection } = presented
    const { entryMode, networkId } = asked
    const wrongExpiry =
      'isExpiryWrong' in presented
        ? { publicToken: presented.card.publicToken, networkId, entryMode }
        : null
    const record = card && recordOf(asked, card, objection)
    const result = answerOf(objection, presented, asked)
    return answerUnspent(context, keyed, { result, record, wrongExpiry })
  }
  const kinds: TryKind[] = [
    ...(presented.pinBlock ? (['pin'] as const) : []),
    ...(asked.cvv2 === undefined ? [] : (['cvv'] as const)),
  ]
  const [kind] = kinds
  const { publicToken } = presented.card
  // Where none was left when the card was read, none is asked for: a storm of guesses locks nothing of the card.
  if (!kind || remainingTries(presented.card)[kind] === 0) {
    if (kind) noteTry(asked, kind, blocked)
    const result = kind ? blockedAnswer(kind, presented, asked) : answerOf('00', presented, asked)
    const record = recordOf(asked, presented.card, result.responseCode)
    return answerUnspent(context, keyed, { result, record, wrongExpiry: null })
  }
  const begun = await spendOnce(context, keyed, { publicToken, kind }, asked)
  if (!begun) return null
  const recorder = { keyed, claimId: begun.claimId, lost: answerOf('96', presented, asked) }
  return check(context, presented, asked, { kinds, firstSpent: begun.spent, recorder })
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

const blocked = { result: 'blocked', remainingTries: 0 } as const

const checkOfKind = { pin: 'pin', cvv: 'cvv2' } as const
const resultOf = {
  match: 'passed',
  mismatch: 'failed',
  unresolved: 'unresolved',
  blocked: 'blocked',
} as const

/** Notes what became of a PIN or CVV2. */
function noteTry(
  { trail }: TracedQuestion,
  kind: TryKind,
  {
    result,
    ...more
  }: Pick<AuthorizationCheck, 'remainingTries' | 'tryNumber'> & { result: keyof typeof resultOf },
): void {
  const responseCode = objections[kind][result]
  trail.note({ check: checkOfKind[kind], result: resultOf[result], responseCode, ...more })
}

const blockedAnswer = (
  kind: TryKind,
  presented: Presentable,
  asked: TracedQuestion,
  outcomes: Outcomes = uncheckedOutcomes(presented.card),
): Authorization => checkedAnswer(kind, presented, asked, { ...outcomes, [kind]: blocked })

/** What is answered when a kind was the last to be looked at. */
const checkedAnswer = (
  kind: TryKind,
  presented: Presentable,
  asked: TracedQuestion,
  outcomes: Outcomes,
): Authorization =>
  answerOf(objections[kind][outcomes[kind].result] ?? '00', presented, asked, outcomes)

interface Checking {
  readonly kinds: readonly TryKind[]
  readonly firstSpent: SpentTry | null
  readonly recorder: Recorder
}

/** Compares one kind after the other until one objects. */
async function check(
  context: AuthorizationContext,
  presented: Presentable,
  asked: TracedQuestion,
  { firstSpent, kinds, recorder }: Checking,
): Promise<idempotency.Answer<Authorization>> {
  const outcomes = uncheckedOutcomes(presented.card)
  let spent = firstSpent
  for (const [index, kind] of kinds.entries()) {
    if (!spent) {
      noteTry(asked, kind, blocked)
      const result = blockedAnswer(kind, presented, asked, outcomes)
      context.observe.checked(result)
      const record = recordOf(asked, presented.card, result.responseCode)
      // Others took the last try since the card was read. Both at once, so that nobody waits for longer.
      const [answer] = await Promise.all([
        recordAnswer(context, recorder, result),
        recordAuthorization(context.database, record),
      ])
      return answer
    }
    const comparison = await compare(context, presented, asked, kind)
    const next = kinds[index + 1]
    const { tryNumber } = spent
    if (comparison !== 'match' || !next) {
      noteTry(asked, kind, { result: comparison, tryNumber })
      const answer = (remainingTries: number): Authorization =>
        checkedAnswer(kind, presented, asked, {
          ...outcomes,
          [kind]: { result: comparison, remainingTries },
        })
      const { cvvLimit, pinLimit } = presented.card
      const last = { spent, comparison, limit: kind === 'pin' ? pinLimit : cvvLimit, answer }
      return settleAndAnswer(context, last, asked, recorder)
    }
    const settled = await settleAndGoOn(context, spent, next, asked)
    const { remaining: remainingTries } = settled
    noteTry(asked, kind, { result: comparison, tryNumber, remainingTries })
    outcomes[kind] = { result: comparison, remainingTries }
    spent = settled.spent
  }
  throw new Error('There was nothing to compare.')
}

async function compare(
  context: AuthorizationContext,
  { card, pinBlock }: Presentable,
  { cvv2 }: TracedQuestion,
  kind: TryKind,
): Promise<Comparison> {
  const { hsm } = context
  const matches = await askHsm(context, async () => {
    if (kind === 'cvv') {
      const expiry = expiryOfDate(card.expiryDate)
      return cvv2 !== undefined && hsm.verifyCvv2(card, card.cvk, expiry, cvv2)
    }
    return pinBlock !== null && hsm.verifyPin(card, storedPin(card), card.pinLength, pinBlock)
  })
  if (matches === null) return 'unresolved'
  return matches ? 'match' : 'mismatch'
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
  { reference }: TracedQuestion,
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
