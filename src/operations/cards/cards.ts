import { setImmediate as letOthersRun } from 'node:timers/promises'
import { formatDate, toExpiry } from '../../domain/calendar.ts'
import {
  describeClosed,
  findLifeStatus,
  isClosed,
  type LifeStatus,
} from '../../domain/card-life.ts'
import * as cardStatuses from '../../domain/card-status.ts'
import type { Requester } from '../../domain/client.ts'
import type { DeliveryStatus } from '../../domain/delivery.ts'
import type { ProductId, PublicToken } from '../../domain/identifiers.ts'
import { Problem } from '../../domain/problem.ts'
import type { CardType, RenewalType } from '../../domain/product.ts'
import { type TryStatus, tryStatus } from '../../domain/tries.ts'
import type { Hsm } from '../../hsm/contract/hsm.ts'
import * as storedCards from '../../storage/cards/cards.ts'
import type { CardAndClientLimit, Limit } from '../../storage/cards/limits.ts'
import {
  type CardFilter,
  type CardKind,
  type CardPosition,
  listCardRows,
} from '../../storage/cards/lists.ts'
import { findRecord, type RecordRow } from '../../storage/cards/records.ts'
import type { Database } from '../../storage/engine/database.ts'
import type { EventType, NewEvent } from '../../storage/events/events.ts'
import { revealPersonalData } from './personal-data.ts'

/** The dependencies of the operations on cards. */
export interface CardContext {
  readonly database: Database
  readonly hsm: Hsm
  /** The current instant, for dates and statuses of cards. */
  now(): Date
  readonly limits: CardLimits
}

/** Limits across processes and restarts; null if limits are off. */
export interface CardLimits {
  readonly reveals: CardAndClientLimit | null
  readonly badSessionKeys: CardAndClientLimit | null
  /** For the PIN and for the CVV. */
  readonly unblocksPerCard: Limit | null
  /** The limit of one operator over the cards of all clients. */
  readonly panSearches: Limit | null
}

/** The answer of Create Card. It contains no PAN, PIN or CVV. */
export interface CreatedCard extends cardStatuses.CardStatus {
  readonly publicToken: PublicToken
  readonly customerReference?: string
  readonly cardType: CardType
  readonly cardProduct: ProductId
  readonly embossName: string
  readonly maskedPan: string
  /** `YYYY-MM-DD`. */
  readonly startDate: string
  /** `YYYY-MM-DD`, the last day of its month. */
  readonly expiryDate: string
  readonly designId?: string
  /** The client's own texts by key. */
  readonly metadata?: Readonly<Record<string, string>>
}

/** The answer of a read. */
export interface CardRecord extends CreatedCard {
  /** The card that this card replaces. */
  readonly replacementFor?: PublicToken
  /** The newest card that replaces this card. */
  readonly replacedBy?: PublicToken
  /** Whether a successor took its place, or it was reported as compromised. */
  readonly retired: boolean
  readonly renewalType: RenewalType
  /** The plastic that is ordered and not current yet. */
  readonly renewal?: {
    readonly plasticNumber: number
    readonly expiryDate: string
    readonly deliveryStatus?: DeliveryStatus
  }
  readonly metadata: Readonly<Record<string, string>>
  readonly pinStatus: TryStatus
  readonly cvvStatus: TryStatus
  /** RFC 3339, UTC. */
  readonly createdAt: string
}

/**
 * Returns the requester's card.
 * @throws `Problem` `card_not_found`.
 */
export async function findCard(
  context: CardContext,
  { clientId }: Requester,
  publicToken: PublicToken,
): Promise<CardRecord> {
  const card = await findRecord(context.database, publicToken, clientId)
  if (!card) throw new Problem('card_not_found')
  return describeRecord(context, card)
}

export type { CardKind }

/** One page of cards, with the start of the next page if there is one. */
interface CardPage {
  readonly cards: readonly CardRecord[]
  readonly next: CardPosition | null
}

/** More at once would delay other answers by several milliseconds. */
const recordsAtOnce = 10

/** One page of the requester's cards, newest first. */
export async function listCards(
  context: CardContext,
  { clientId }: Requester,
  filter: Omit<CardFilter, 'today'>,
): Promise<CardPage> {
  const today = formatDate(context.now())
  const page = await listCardRows(context.database, clientId, { ...filter, today })
  const cards: CardRecord[] = []
  for (let from = 0; from < page.cards.length; from += recordsAtOnce) {
    if (from > 0) await letOthersRun()
    const some = page.cards.slice(from, from + recordsAtOnce)
    cards.push(...(await Promise.all(some.map((card) => describeRecord(context, card)))))
  }
  const { statusCode } = filter
  // A card that left the status while its page was read is no card of the list.
  const listed = cards.filter(
    ({ cardStatusCode }) => statusCode === null || cardStatusCode === statusCode,
  )
  return { cards: listed, next: page.next }
}

/** Describes a card that was read. */
export async function describeRecord(context: CardContext, card: RecordRow): Promise<CardRecord> {
  const { metadata, personalData, publicToken, replacedBy, replacementFor } = card
  const { waitingDelivery, waitingExpiryDate, waitingNumber } = card
  const { embossName } = await revealPersonalData(context.hsm, publicToken, personalData)
  return {
    ...describeCard(card, statusNow(context, card), embossName),
    pinStatus: tryStatus('pin', {
      limit: card.pinLimit,
      spent: card.pinSpent,
      restored: card.pinRestored,
      isWithdrawn: card.isPinWithdrawn,
    }),
    cvvStatus: tryStatus('cvv', {
      limit: card.cvvLimit,
      spent: card.cvvSpent,
      restored: card.cvvRestored,
      isWithdrawn: card.isCvvWithdrawn,
    }),
    createdAt: card.createdAt.toISOString(),
    ...(replacementFor !== null && { replacementFor }),
    ...(replacedBy !== null && { replacedBy }),
    retired: card.isRetired,
    renewalType: card.renewalType,
    ...(waitingNumber !== null &&
      waitingExpiryDate !== null && {
        renewal: {
          plasticNumber: waitingNumber,
          expiryDate: waitingExpiryDate,
          ...(waitingDelivery !== null && { deliveryStatus: waitingDelivery }),
        },
      }),
    metadata: metadata === null ? {} : (JSON.parse(metadata) as Record<string, string>),
  }
}

/** Describes a card without its tries and its metadata. */
export const describeCard = (
  card: Omit<storedCards.CardRow, 'createdAt' | 'personalData' | 'statusCode' | 'validUntil'>,
  status: cardStatuses.CardStatusCode,
  embossName: string,
): CreatedCard => ({
  publicToken: card.publicToken,
  ...(card.customerReference !== null && { customerReference: card.customerReference }),
  cardType: card.cardType,
  cardProduct: card.productId,
  embossName,
  maskedPan: card.maskedPan,
  startDate: card.startDate,
  expiryDate: card.expiryDate,
  ...(card.designId !== null && { designId: card.designId }),
  ...cardStatuses.describeCardStatus(status),
})

/**
 * Returns the requester's card as it is now, without a lock.
 * @throws `Problem` `card_not_found`, also for another client's card.
 */
export async function findOwnCard(
  { database }: Pick<CardContext, 'database'>,
  { clientId }: Requester,
  publicToken: PublicToken,
): Promise<storedCards.CardWithProduct> {
  const card = await storedCards.findCardWithProduct(database, publicToken, clientId)
  if (!card) throw new Problem('card_not_found')
  return card
}

/** Returns the present status of the card, even if its expiry has not been written yet. */
export const statusNow = (
  { now }: Pick<CardContext, 'now'>,
  { statusCode, validUntil }: Pick<storedCards.CardRow, 'statusCode' | 'validUntil'>,
): cardStatuses.CardStatusCode => cardStatuses.statusAt(statusCode, toExpiry(validUntil), now())

/** Returns the present status of the card in its life. */
export const lifeStatusNow = (
  context: Pick<CardContext, 'now'>,
  card: Pick<storedCards.CardWithProduct, 'statusCode' | 'validUntil' | 'isRetired'>,
): LifeStatus => findLifeStatus(statusNow(context, card), card.isRetired)

/** Returns the refusal of an act that a status does not allow, with what to do instead. */
export const cardClosed = (status: LifeStatus): Problem =>
  new Problem('card_closed', { detail: describeClosed(status) })

/** @throws `Problem` `card_closed` for a card in a final status, or a retired one. */
export function refuseClosed(
  context: CardContext,
  card: Pick<storedCards.CardWithProduct, 'statusCode' | 'validUntil' | 'isRetired'>,
): void {
  const status = lifeStatusNow(context, card)
  if (isClosed(status)) throw cardClosed(status)
}

/**
 * The actor of a change: the card's client; or an operator, with `clientId` the client of the card.
 */
export interface CardActor extends Requester {
  /** The operator, if the client did not act itself. */
  readonly operatorId?: string
}

/** The note of a client or an operator about a change, stored sealed with its event. */
export interface ChangeNote {
  readonly description?: string
  readonly updatedBy?: string
}

/** A change of a card, with its note. */
interface CardChange {
  readonly publicToken: PublicToken
  readonly type: EventType
  readonly details?: NewEvent['details']
  readonly note?: ChangeNote
}

/** Composes the event of a change, with its sealed note. */
export const changeEvent = async (
  context: Pick<CardContext, 'hsm'>,
  { operatorId, requestId }: CardActor,
  { details = {}, note = {}, publicToken, type }: CardChange,
): Promise<NewEvent> => ({
  publicToken,
  type,
  requestId,
  ...(operatorId !== undefined && { operatorId }),
  details,
  note: await sealNote(context, publicToken, note),
})

/** Seals the note of a change of a card; null without one. */
export async function sealNote(
  { hsm }: Pick<CardContext, 'hsm'>,
  publicToken: PublicToken,
  note: ChangeNote,
): Promise<Uint8Array | null> {
  if (note.description === undefined && note.updatedBy === undefined) return null
  return hsm.sealRecord('note', publicToken, JSON.stringify(note))
}
