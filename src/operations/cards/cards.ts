import { setImmediate as turnOfOthers } from 'node:timers/promises'
import { dateOf, expiryOfDate } from '../../domain/calendar.ts'
import {
  type CardStatus,
  type CardStatusCode,
  describeCardStatus,
  isFinal,
  statusAt,
} from '../../domain/card-status.ts'
import { Problem } from '../../domain/problem.ts'
import type { CardType } from '../../domain/product.ts'
import { type TryKind, type TryStatus, tryStatus } from '../../domain/tries.ts'
import type { Hsm } from '../../hsm/contract/hsm.ts'
import {
  type CardRow,
  type CardWithTries,
  findCard,
  findCard as findStoredCard,
  type LockedCard,
  lockCard,
} from '../../storage/cards/cards.ts'
import type { CardAndClientLimit, Limit } from '../../storage/cards/limits.ts'
import {
  type CardFilter,
  type CardPosition,
  findCards as listStoredCards,
} from '../../storage/cards/lists.ts'
import {
  type AttemptPosition,
  type AttemptRow,
  findTries,
  findAttempts as listStoredAttempts,
} from '../../storage/cards/tries.ts'
import type { Connection, Database } from '../../storage/engine/database.ts'
import type { FairQueue } from '../card-data/session-key.ts'
import { revealPersonalData } from './create-card.ts'

/** What every operation works with. */
export interface CardOperations {
  readonly database: Database
  readonly hsm: Hsm
  /** The instant that card dates and statuses are held against. */
  now(): Date
  readonly limits: CardLimits
  /** Opens session keys: each costs a private RSA operation, for which all clients share a machine. */
  readonly sessionKeyQueue: FairQueue
}

/** Limits that hold across processes and restarts; null where limits are turned off. */
export interface CardLimits {
  readonly reveals: CardAndClientLimit | null
  readonly badSessionKeys: CardAndClientLimit | null
  /** For each kind of tries. */
  readonly unblocksPerCard: Limit | null
}

/** Who asks, as the access token says, and under which request id. */
export interface Requester {
  readonly clientId: string
  readonly requestId: string
}

/** What a client may say of a change. Kept sealed beside its event. */
export interface ChangeNote {
  readonly description?: string
  readonly updatedBy?: string
}

/**
 * The caller's card, held until the transaction ends.
 * @throws `Problem` `card_not_found`, the same for another client's card and for none.
 */
export async function lockOwnCard(
  connection: Connection,
  caller: Requester,
  publicToken: string,
): Promise<LockedCard> {
  const card = await lockCard(connection, publicToken, caller.clientId)
  if (!card) throw new Problem('card_not_found')
  return card
}

/** The status that holds now, whether or not the sweep has come by. */
export const statusNow = (
  issuing: Pick<CardOperations, 'now'>,
  card: Pick<CardRow, 'statusCode' | 'expiryDate'>,
): CardStatusCode => statusAt(card.statusCode, expiryOfDate(card.expiryDate), issuing.now())

/** @throws `Problem` `card_closed` on a card in a final status. */
export function refuseClosed(issuing: CardOperations, card: LockedCard): void {
  if (isFinal(statusNow(issuing, card))) throw new Problem('card_closed')
}

/** A card as its creation answers it. There is no PAN, PIN or CVV in it to leak. */
export interface CreatedCard extends CardStatus {
  readonly publicToken: string
  readonly customerReference?: string
  readonly cardType: CardType
  readonly cardProduct: number
  readonly embossName: string
  readonly maskedPan: string
  /** `YYYY-MM-DD`. */
  readonly startDate: string
  /** `YYYY-MM-DD`, the last day of its month. */
  readonly expiryDate: string
  readonly designId?: string
}

/** A card as a read answers it. */
interface CardRecord extends CreatedCard {
  readonly pinStatus: TryStatus
  readonly cvvStatus: TryStatus
  /** RFC 3339, UTC. */
  readonly createdAt: string
}

/** The record of a stored card. */
async function cardRecord(issuing: CardOperations, card: CardWithTries): Promise<CardRecord> {
  const { embossName } = await revealPersonalData(issuing.hsm, card.publicToken, card.personalData)
  return {
    publicToken: card.publicToken,
    ...(card.customerReference !== null && { customerReference: card.customerReference }),
    cardType: card.cardType,
    cardProduct: card.productId,
    embossName,
    maskedPan: card.maskedPan,
    startDate: card.startDate,
    expiryDate: card.expiryDate,
    ...(card.designId !== null && { designId: card.designId }),
    ...describeCardStatus(statusNow(issuing, card)),
    pinStatus: tryStatus('pin', {
      limit: card.pinLimit,
      spent: card.pinSpent,
      restored: card.pinRestored,
      blockedByClient: card.pinBlockedByClient,
    }),
    cvvStatus: tryStatus('cvv', {
      limit: card.cvvLimit,
      spent: card.cvvSpent,
      restored: card.cvvRestored,
      blockedByClient: card.cvvBlockedByClient,
    }),
    createdAt: card.createdAt.toISOString(),
  }
}

/** The caller's card. @throws `Problem` `card_not_found`. */
export async function getCard(
  issuing: CardOperations,
  caller: Requester,
  publicToken: string,
): Promise<CardRecord> {
  const card = await findStoredCard(issuing.database, publicToken, caller.clientId)
  if (!card) throw new Problem('card_not_found')
  return cardRecord(issuing, card)
}

export type { CardPosition }

/** One page of cards, and where the next one begins if there is one. */
interface CardPage {
  readonly cards: readonly CardRecord[]
  readonly next: CardPosition | null
}

/** One page of the caller's cards, newest first. */
export async function listCards(
  issuing: CardOperations,
  caller: Requester,
  filter: Omit<CardFilter, 'today'>,
): Promise<CardPage> {
  const today = dateOf(issuing.now())
  // One more than asked for tells whether there is a next page.
  const rows = await listStoredCards(issuing.database, caller.clientId, {
    ...filter,
    today,
    limit: filter.limit + 1,
  })
  const page = rows.slice(0, filter.limit)
  const last = rows.length > filter.limit ? page.at(-1) : undefined
  return {
    cards: await openRecords(issuing, page),
    next: last ? { createdAt: last.position, publicToken: last.publicToken } : null,
  }
}

/** A hundred would keep whoever else has an answer coming waiting for several milliseconds. */
const recordsATurn = 10

async function openRecords(issuing: CardOperations, rows: readonly CardWithTries[]) {
  const records: CardRecord[] = []
  for (let from = 0; from < rows.length; from += recordsATurn) {
    if (from > 0) await turnOfOthers()
    const turn = rows.slice(from, from + recordsATurn)
    records.push(...(await Promise.all(turn.map((row) => cardRecord(issuing, row)))))
  }
  return records
}

export type { AttemptPosition }

/** One page of attempts, and where the next one begins if there is one. */
interface AttemptPage {
  readonly attempts: readonly AttemptRow[]
  readonly next: AttemptPosition | null
}

/** One page of the tries that were spent on the caller's card. @throws `Problem` `card_not_found`. */
export async function listAttempts(
  { database }: CardOperations,
  caller: Requester,
  publicToken: string,
  after: AttemptPosition | null,
  limit: number,
): Promise<AttemptPage> {
  const { clientId } = caller
  // One more than asked for tells whether there is a next page.
  const rows = await listStoredAttempts(database, publicToken, clientId, after, limit + 1)
  if (rows.length === 0 && !(await findCard(database, publicToken, clientId))) {
    throw new Problem('card_not_found')
  }
  const attempts = rows.slice(0, limit)
  const last = rows.length > limit ? attempts.at(-1) : undefined
  const next = last ? { at: last.position, kind: last.kind, tryNumber: last.tryNumber } : null
  return { attempts, next }
}

/** Whether a card's PIN or CVV can be used, and the tries that remain. Answers in every card status. */
export async function readTryStatus(
  { database }: CardOperations,
  caller: Requester,
  publicToken: string,
  kind: TryKind,
): Promise<TryStatus> {
  const tries = await findTries(database, publicToken, kind, caller.clientId)
  if (!tries) throw new Problem('card_not_found')
  return tryStatus(kind, tries)
}

/** The status of the caller's card, as it holds now. @throws `Problem` `card_not_found`. */
export async function readCardStatus(
  issuing: CardOperations,
  caller: Requester,
  publicToken: string,
): Promise<CardStatus> {
  const card = await findCard(issuing.database, publicToken, caller.clientId)
  if (!card) throw new Problem('card_not_found')
  return describeCardStatus(statusNow(issuing, card))
}
