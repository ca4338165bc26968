import { formatDate } from '../../domain/calendar.ts'
import { listLifeMoves } from '../../domain/card-life.ts'
import * as cardStatuses from '../../domain/card-status.ts'
import type { Requester } from '../../domain/client.ts'
import type { PublicToken } from '../../domain/identifiers.ts'
import { Problem } from '../../domain/problem.ts'
import { findCard } from '../../storage/cards/cards.ts'
import { expireCards, updateCardStatus } from '../../storage/cards/changes.ts'
import { expireIdempotencyRecords, rememberAnswer } from '../../storage/idempotency/idempotency.ts'
import { type Answer, commitOnce, type RepeatableRequest } from '../idempotency/idempotency.ts'
import { activateSuccessor } from './activation.ts'
import * as cards from './cards.ts'
import { activateConverted } from './renewals.ts'

/**
 * Returns the present status of the requester's card.
 * @throws `Problem` `card_not_found`.
 */
export async function findCardStatus(
  context: cards.CardContext,
  { clientId }: Requester,
  publicToken: PublicToken,
): Promise<cardStatuses.CardStatus> {
  const card = await findCard(context.database, publicToken, clientId)
  if (!card) throw new Problem('card_not_found')
  return cardStatuses.describeCardStatus(cards.statusNow(context, card))
}

/** A move of a card to another status. */
interface StatusChange {
  readonly publicToken: PublicToken
  readonly to: cardStatuses.CardStatusCode
  /** The only status from which it is moved; by default, any that allows the move. */
  readonly onlyFrom?: cardStatuses.CardStatusCode
  readonly note: cards.ChangeNote
}

/**
 * Moves a card to another status. The activation of a successor retires the cards that it replaces.
 * Setting the present status changes nothing and records no event, except that `00` activates the
 * plastic of a converted card. The end of a restriction does not: the plastic may be on its way.
 * @throws `Problem` `card_not_found`; `card_status_conflict`, naming the allowed moves.
 */
export const changeCardStatus = (
  context: cards.CardContext,
  requester: cards.CardActor,
  { note, onlyFrom, publicToken, to }: StatusChange,
  request: RepeatableRequest | null,
): Promise<Answer<null>> =>
  commitOnce<null>(context, request, async (claimFor) => {
    const { database } = context
    const { clientId } = requester
    const card = await findCard(database, publicToken, clientId)
    if (!card) throw new Problem('card_not_found')
    const from = cards.statusNow(context, card)
    const claim = await claimFor(null)
    const isRestrictionEnded = onlyFrom === '62'
    if (from === to && to === '00' && card.isPlasticInactive && !isRestrictionEnded) {
      const isDone = await activateConverted(context, requester, { publicToken, note }, claim)
      return { isDone, result: null }
    }
    if (from === to) return { isDone: await rememberAnswer(database, claim), result: null }
    refuseMove(from, to, onlyFrom, card.isRetired)
    if (to === '00' && from === '02' && card.generation > 0) {
      return {
        isDone: await activateSuccessor(context, requester, { publicToken, note }, claim),
        result: null,
      }
    }
    const event = await cards.changeEvent(context, requester, {
      publicToken,
      type: 'card.status_changed',
      details: { from, to },
      note,
    })
    const act = { clientId, event, claim }
    const isDone = await updateCardStatus(database, act, { from: card.statusCode, to })
    return { isDone, result: null }
  })

/**
 * Refuses a move that the status of a card does not allow.
 * @param onlyFrom the only status from which the act moves a card.
 * @throws `Problem` `card_status_conflict`, naming the allowed moves.
 */
export function refuseMove(
  from: cardStatuses.CardStatusCode,
  to: cardStatuses.CardStatusCode,
  onlyFrom = from,
  isRetired = false,
): void {
  const moves = listLifeMoves(isRetired && from === '62' ? 'retired' : from)
  if (from === onlyFrom && moves.includes(to)) return
  if (from !== onlyFrom && moves.includes(to)) {
    const detail =
      `The card is ${nameStatus(from)}. ` +
      `This act moves it to ${nameStatus(to)} only from ${nameStatus(onlyFrom)}.`
    throw new Problem('card_status_conflict', { detail })
  }
  const allowed = moves.map(nameStatus)
  const offer =
    allowed.length > 0
      ? `It may become ${allowed.join(', ')}`
      : offerAfterEnd(from === '54' && !isRetired)
  const state = isRetired ? ' and retired, because another card took its place' : ''
  const refusal = from === to ? ' already' : `${state}; it cannot become ${nameStatus(to)}`
  const detail = `The card is ${nameStatus(from)}${refusal}. ${offer}.`
  throw new Problem('card_status_conflict', { detail })
}

const offerAfterEnd = (canBeRenewed: boolean): string =>
  canBeRenewed
    ? 'A renewal makes it active again, within the months of grace of its product'
    : 'This status is final'

/** `62 (Restricted)` */
const nameStatus = (code: cardStatuses.CardStatusCode): string =>
  `${code} (${cardStatuses.describeCardStatus(code).status})`

/** The number of rows changed at a time, so that a sweep delays no other work. */
const stepSize = 100

/**
 * Records the event of each card that expired, and deletes old idempotency keys, in small steps.
 * Several processes may sweep at once.
 * @param stop ends it between two steps: the next sweep resumes there.
 */
export async function sweep(
  { database, now }: Pick<cards.CardContext, 'database' | 'now'>,
  stop: AbortSignal = new AbortController().signal,
): Promise<void> {
  const today = formatDate(now())
  while (!stop.aborted && (await expireCards(database, today, stepSize)) > 0);
  while (!stop.aborted && (await expireIdempotencyRecords(database, stepSize)) > 0);
}
