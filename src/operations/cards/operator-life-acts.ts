import type { RenewStep } from '../../domain/card-life.ts'
import type { OperatorReplacementReason } from '../../domain/replacement.ts'
import type { Answer, RepeatableRequest } from '../idempotency/idempotency.ts'
import type { CardContext } from './cards.ts'
import { actorOn, composeNote, type Operator, type ReasonedAct } from './operator-acts.ts'
import type { Address } from './personal-data.ts'
import { changeCardRecord } from './record-changes.ts'
import { cancelRenewal, convertCard, renewCard } from './renewals.ts'
import { replaceCard, type Successor } from './replacements.ts'
import { changeCardStatus } from './status.ts'

/**
 * Activates a card that was never active, or the plastic of a converted card. A successor takes the
 * place of the cards before it. An active card does not change.
 * @throws as `changeCardStatus`, for a card with another status than 02 and 00, too.
 */
export async function activateAsOperator(
  context: CardContext,
  operator: Operator,
  { publicToken, reason }: ReasonedAct,
  request: RepeatableRequest | null,
): Promise<Answer<null>> {
  const actor = await actorOn(context, operator, publicToken)
  const note = composeNote(operator, reason)
  const change = { publicToken, to: '00', onlyFrom: '02', note } as const
  return changeCardStatus(context, actor, change, request)
}

/** A step of a renewal by an operator. */
interface RenewalByOperator extends ReasonedAct {
  readonly step: RenewStep
}

/**
 * Orders the next plastic of a card with the default expiry, or makes the plastic that waits
 * current.
 * @throws as `renewCard`.
 */
export async function renewAsOperator(
  context: CardContext,
  operator: Operator,
  { publicToken, reason, step }: RenewalByOperator,
  request: RepeatableRequest | null,
): Promise<Answer<null>> {
  const actor = await actorOn(context, operator, publicToken)
  const renewal = { publicToken, step, note: composeNote(operator, reason) }
  return renewCard(context, actor, renewal, request)
}

/**
 * Cancels the plastic that waits.
 * @throws as `cancelRenewal`.
 */
export async function cancelRenewalAsOperator(
  context: CardContext,
  operator: Operator,
  { isNotReceived, publicToken, reason }: ReasonedAct & { readonly isNotReceived: boolean },
  request: RepeatableRequest | null,
): Promise<Answer<null>> {
  const actor = await actorOn(context, operator, publicToken)
  const note = composeNote(operator, reason)
  return cancelRenewal(context, actor, { publicToken, isNotReceived, note }, request)
}

/**
 * Gives a virtual card plastic, which goes to the address of the cardholder.
 * @throws as `convertCard`.
 */
export async function convertAsOperator(
  context: CardContext,
  operator: Operator,
  { publicToken, reason }: ReasonedAct,
  request: RepeatableRequest | null,
): Promise<Answer<null>> {
  const actor = await actorOn(context, operator, publicToken)
  const note = composeNote(operator, reason)
  const { replayed } = await convertCard(context, actor, { publicToken, note }, request)
  return { result: null, replayed }
}

/** Where the plastic of a card goes, by an operator. */
interface DeliveryByOperator extends ReasonedAct {
  /** Null: to the address of the cardholder. */
  readonly fulfilment: Address | null
}

/**
 * Changes the address that the next plastic of a card goes to, and one that the bureau has not read
 * yet.
 * @throws as `changeCardRecord`.
 */
export async function changeDeliveryAsOperator(
  context: CardContext,
  operator: Operator,
  { fulfilment, publicToken, reason }: DeliveryByOperator,
  request: RepeatableRequest | null,
): Promise<Answer<null>> {
  const actor = await actorOn(context, operator, publicToken)
  const change = { publicToken, members: { fulfilment }, note: composeNote(operator, reason) }
  return changeCardRecord(context, actor, change, request)
}

/** A replacement by an operator. */
interface ReplacementByOperator extends ReasonedAct {
  readonly replacementReason: OperatorReplacementReason
}

/**
 * Replaces a card. Its successor has the same product and goes to the address on record: an
 * operator cannot send a card anywhere else.
 * @throws as `replaceCard`.
 */
export async function replaceAsOperator(
  context: CardContext,
  operator: Operator,
  { publicToken, reason, replacementReason }: ReplacementByOperator,
  request: RepeatableRequest | null,
): Promise<Answer<Successor>> {
  const actor = await actorOn(context, operator, publicToken)
  const note = composeNote(operator, reason)
  return replaceCard(context, actor, { publicToken, reason: replacementReason, note }, request)
}
