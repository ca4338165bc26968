import type { PlasticReason, PlasticState } from '../../domain/card-life.ts'
import { type CardStatus, describeCardStatus } from '../../domain/card-status.ts'
import type { Requester } from '../../domain/client.ts'
import type { DeliveryStatus } from '../../domain/delivery.ts'
import type { ProductId, PublicToken } from '../../domain/identifiers.ts'
import { Problem } from '../../domain/problem.ts'
import type { CardType } from '../../domain/product.ts'
import type { ReplacementReason } from '../../domain/replacement.ts'
import { findCard } from '../../storage/cards/cards.ts'
import { listLine, type PlasticOfLine } from '../../storage/cards/lines.ts'
import { findCardOfAnyClient } from '../../storage/cards/search.ts'
import { type CardContext, statusNow } from './cards.ts'

/** An edition of a card. Dates are `YYYY-MM-DD`, and instants RFC 3339 in UTC. */
interface PlasticRecord {
  readonly plasticNumber: number
  readonly cardType: CardType
  readonly reason: PlasticReason
  readonly state: PlasticState
  /** Of a converted card, until it is activated. */
  readonly inactive?: true
  readonly startDate: string
  readonly expiryDate: string
  /** Of a physical edition. */
  readonly deliveryStatus?: DeliveryStatus
  readonly deliveryChangedAt?: string
  /** How many notices of its renewal were given: at 60 days, and at 30. */
  readonly noticesGiven: number
  readonly orderedAt: string
  /** When it was retired or cancelled. */
  readonly endedAt?: string
}

/** A card of a line, with its plastics. */
interface CardOfHistory extends CardStatus {
  readonly publicToken: PublicToken
  readonly maskedPan: string
  readonly cardProduct: ProductId
  readonly createdAt: string
  /** The card that it replaced, and why. */
  readonly replacementFor?: PublicToken
  readonly reason?: ReplacementReason
  /** When it took the place of the cards before it. */
  readonly activatedAt?: string
  readonly retired: boolean
  readonly retiredAt?: string
  readonly plastics: PlasticRecord[]
}

/** One page of a history, with the generation that the next page ends before. */
interface HistoryPage {
  readonly cards: readonly CardOfHistory[]
  readonly next: number | null
}

/**
 * Lists the line of the requester's card: the cards that replaced each other, newest first, each
 * with its plastics in the order of their numbers.
 * @param before the generation before which the page begins; null for the newest card.
 * @throws `Problem` `card_not_found`.
 */
export async function listHistory(
  context: CardContext,
  { clientId }: Pick<Requester, 'clientId'>,
  publicToken: PublicToken,
  { before, limit }: { readonly before: number | null; readonly limit: number },
): Promise<HistoryPage> {
  const { database } = context
  const card = await findCard(database, publicToken, clientId)
  if (!card) throw new Problem('card_not_found')
  const rows = await listLine(database, {
    lineToken: card.lineToken,
    before: before ?? 2_147_483_647,
    limit,
  })
  const plastics = Map.groupBy(rows, ({ publicToken }) => publicToken)
  const cards = [...plastics.values()].map((each) => describeCard(context, each))
  // The last row is of the oldest card of the page.
  const oldest = rows.at(-1)?.generation ?? 0
  return { cards, next: oldest > 0 ? oldest : null }
}

/**
 * Lists the same for a card of any client.
 * @throws `Problem` `card_not_found`.
 */
export async function listHistoryOfAnyClient(
  context: CardContext,
  publicToken: PublicToken,
  page: { readonly before: number | null; readonly limit: number },
): Promise<HistoryPage> {
  const card = await findCardOfAnyClient(context.database, publicToken)
  if (!card) throw new Problem('card_not_found')
  return listHistory(context, card, publicToken, page)
}

/** @param plastics of one card. */
function describeCard(context: CardContext, plastics: readonly PlasticOfLine[]): CardOfHistory {
  const [card] = plastics
  if (!card) throw new Error('A card has no plastic.')
  const { activatedAt, replacementFor, replacementReason, retiredAt } = card
  return {
    publicToken: card.publicToken,
    maskedPan: card.maskedPan,
    cardProduct: card.productId,
    createdAt: card.createdAt.toISOString(),
    ...(replacementFor !== null && { replacementFor }),
    ...(replacementReason !== null && { reason: replacementReason }),
    ...(activatedAt && { activatedAt: activatedAt.toISOString() }),
    retired: retiredAt !== null,
    ...(retiredAt && { retiredAt: retiredAt.toISOString() }),
    ...describeCardStatus(statusNow(context, card)),
    plastics: plastics.map(describePlastic),
  }
}

function describePlastic(plastic: PlasticOfLine): PlasticRecord {
  const { deliveryChangedAt, deliveryStatus, endedAt } = plastic
  return {
    plasticNumber: plastic.plasticNumber,
    cardType: plastic.cardType,
    reason: plastic.plasticReason,
    state: plastic.state,
    ...(plastic.isInactive && { inactive: true }),
    startDate: plastic.startDate,
    expiryDate: plastic.expiryDate,
    ...(deliveryStatus !== null && { deliveryStatus }),
    ...(deliveryChangedAt && { deliveryChangedAt: deliveryChangedAt.toISOString() }),
    noticesGiven: plastic.noticesGiven,
    orderedAt: plastic.orderedAt.toISOString(),
    ...(endedAt && { endedAt: endedAt.toISOString() }),
  }
}
