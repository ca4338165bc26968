import type { EventType } from '../../domain/event-type.ts'
import type { PublicToken } from '../../domain/identifiers.ts'
import type { TryKind } from '../../domain/tries.ts'
import type { AuthorizationRow } from '../authorizations/records.ts'
import { type Connection, firstRow } from '../engine/database.ts'
import { loadStatements } from '../engine/statements.ts'

/** An event of a card, published or not. */
export interface CardEvent {
  readonly sequence: number
  readonly eventId: string
  readonly type: EventType
  /** RFC 3339 in UTC, to the microsecond, like all instants here. */
  readonly at: string
  /** Null for an automatic act. */
  readonly requestId: string | null
  /** Null unless an operator acted. */
  readonly operatorId: string | null
  /** JSON. */
  readonly details: string
}

/** A try in the history of a card. */
export interface HistoricTry {
  readonly at: string
  readonly kind: TryKind
  readonly tryNumber: number
  readonly result: 'match' | 'mismatch' | 'unresolved'
  readonly restored: boolean
  readonly remainingTries: number
  readonly entryMode: string
  readonly reference: string
}

/** The note of an act, sealed with its event. */
interface SealedNote {
  readonly sequence: number
  /** Hexadecimal. */
  readonly note: string
}

/** The state of an event's delivery to one webhook. */
export interface EventDelivery {
  readonly webhookId: string
  readonly position: string
  readonly status: 'Pending' | 'Delivered' | 'Failed'
  readonly tries: number
  readonly lastTry: {
    readonly at: string
    readonly outcome: string
    readonly statusCode?: number
  } | null
}

/** A numbered act of an operator on a card. */
export interface ActOnCard {
  readonly actId: string
  readonly number: number
  readonly at: string
  readonly act: string
  readonly operatorId: string
  readonly requestId: string
}

/**
 * The position before the whole history of a card. The next page has lower numbers from each
 * source.
 */
export const newestPosition: CardHistoryPosition = {
  sequence: 2_147_483_647,
  pin: 2_147_483_647,
  cvv: 2_147_483_647,
  authorizationId: 'ffffffff-ffff-ffff-ffff-ffffffffffff',
  act: 9_007_199_254_740_991,
}

export interface CardHistoryPosition {
  readonly sequence: number
  readonly pin: number
  readonly cvv: number
  readonly authorizationId: string
  readonly act: number
}

/** The rows that are placed with a card: each list newest first, one more than the longest page. */
export interface RowsOfCard {
  readonly clientId: string
  readonly pinTries: readonly HistoricTry[]
  readonly cvvTries: readonly HistoricTry[]
  readonly authorizations: readonly AuthorizationRow[]
  /** Events that readers do not see yet. */
  readonly unpublished: readonly CardEvent[]
  readonly notes: readonly SealedNote[]
}

const declare = loadStatements(import.meta.url)

const selectRows = declare<
  Omit<CardHistoryPosition, 'act'> & { publicToken: PublicToken },
  RowsOfCard
>('list_rows_of_card')

/** Returns the history of a card before a position; null if the card does not exist. */
export const listTimelineRows = async (
  connection: Connection,
  publicToken: PublicToken,
  before: CardHistoryPosition,
): Promise<RowsOfCard | null> => firstRow(await selectRows(connection, { ...before, publicToken }))

/** Published events of a card, newest first, and their deliveries. */
export interface PublishedOfCard {
  readonly events: readonly (CardEvent & { readonly position: string })[]
  readonly deliveries: readonly EventDelivery[]
}

interface EventsOfCard {
  readonly clientId: string
  readonly publicToken: PublicToken
  readonly beforeSequence: number
}

const selectEvents = declare<EventsOfCard, PublishedOfCard>('list_events_of_card')

/** Lists the published events of a card below a number, newest first, with their deliveries. */
export const listCardEvents = async (
  connection: Connection,
  clientId: string,
  publicToken: PublicToken,
  beforeSequence: number,
): Promise<PublishedOfCard> => {
  const rows = await selectEvents(connection, { clientId, publicToken, beforeSequence })
  return firstRow(rows) ?? { events: [], deliveries: [] }
}

const selectActs = declare<{ publicToken: PublicToken; beforeNumber: number }, ActOnCard>(
  'list_acts_on_card',
)

/** Lists the disclosures of a card to operators, newest first. */
export const listActsOnCard = (
  connection: Connection,
  publicToken: PublicToken,
  beforeNumber: number,
): Promise<ActOnCard[]> => selectActs(connection, { publicToken, beforeNumber })

const selectStatusEvent = declare<EventsOfCard, CardEvent>('find_event_of_status')
const selectUnpublishedStatusEvent = declare<{ publicToken: PublicToken }, CardEvent>(
  'find_unpublished_event_of_status',
)

/** Returns the event that set a card's stored status; null if it is not among its newest. */
export const findStatusEvent = async (
  connection: Connection,
  clientId: string,
  publicToken: PublicToken,
): Promise<CardEvent | null> => {
  const unpublished = firstRow(await selectUnpublishedStatusEvent(connection, { publicToken }))
  if (unpublished) return unpublished
  const beforeSequence = newestPosition.sequence
  return firstRow(await selectStatusEvent(connection, { clientId, publicToken, beforeSequence }))
}

const selectNote = declare<{ publicToken: PublicToken; sequence: number }, { note: string }>(
  'find_note_of_event',
)

/** Returns the sealed note of an act, in hexadecimal, or null. */
export const findEventNote = async (
  connection: Connection,
  publicToken: PublicToken,
  sequence: number,
): Promise<string | null> =>
  firstRow(await selectNote(connection, { publicToken, sequence }))?.note ?? null
