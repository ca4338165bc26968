import type { EventType } from '../../domain/event-type.ts'
import type { PublicToken } from '../../domain/identifiers.ts'
import type { TryKind } from '../../domain/tries.ts'
import { type Connection, firstRow, statement } from '../engine/database.ts'
import {
  type AuthorizationRow,
  authorizationColumns,
  scanAuthorizations,
} from './authorization-records.ts'

/** An event of a card, published or not. */
export interface CardEvent {
  readonly sequence: number
  readonly eventId: string
  readonly type: EventType
  /** RFC 3339 in UTC, to the microsecond, as all instants here. */
  readonly at: string
  /** Null where nobody asked for it. */
  readonly requestId: string | null
  /** Null where it was not an operator who acted. */
  readonly operatorId: string | null
  /** JSON. */
  readonly details: string
}

/** A try of a card as it stands in its history. */
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

/** What was said of an act, sealed beside its event. */
interface SealedNote {
  readonly sequence: number
  /** Hexadecimal. */
  readonly note: string
}

/** How far an event got to one webhook. */
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

/** An act on a card that is numbered among those of operators. */
export interface ActOnCard {
  readonly actId: string
  readonly number: number
  readonly at: string
  readonly act: string
  readonly operatorId: string
  readonly requestId: string
}

/** Before all that a card has: of each source, the next page has what is of lower numbers. */
export const newestOfCard: CardHistoryPosition = {
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

/** The longest page, and one more. */
const rowsMax = 101

const utc = (column: string): string =>
  `to_char(${column} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`

const listed = (select: string): string =>
  `(select coalesce(json_agg(listed), '[]') from (${select}) as listed)`

const tries = (kind: TryKind, before: string): string => `
  select ${utc('attempted_at')} as "at", kind, try_number as "tryNumber", result, restored,
    remaining_tries as "remainingTries", entry_mode as "entryMode", reference
  from attempt
  where public_token = any(array[$1])
    and (public_token, kind, try_number) < ($1, '${kind}', ${before}::integer)
    and (public_token, kind) >= ($1, '${kind}')
  order by attempt.public_token desc, attempt.kind desc, attempt.try_number desc limit ${rowsMax}`

const eventColumns = `sequence, event_id as "eventId", type, ${utc('occurred_at')} as "at",
  request_id as "requestId", operator_id as "operatorId", details`

// All that lies with the card, each through its own index, in its own order. Of notes as many as a page may have events.
const rowsStatement = statement(
  'list_rows_of_card',
  `select card.client_id as "clientId",
     ${listed(tries('pin', '$2'))} as "pinTries", ${listed(tries('cvv', '$3'))} as "cvvTries",
     ${listed(`select ${authorizationColumns} from (${scanAuthorizations('$4')}) as record`)} as "authorizations",
     ${listed(`select ${eventColumns} from event
       where public_token = any(array[$1]) and sequence < $5::integer and not published
       order by public_token desc, event.sequence desc limit ${rowsMax}`)} as "unpublished",
     ${listed(`select sequence, encode(note, 'hex') as "note" from event
       where public_token = any(array[$1]) and sequence < $5::integer and note is not null
       order by public_token desc, event.sequence desc limit ${rowsMax}`)} as "notes"
   from card where card.public_token = any(array[$1]) limit 1`,
)

/** What lies with a card: each list newest first, one more than the longest page. */
export interface RowsOfCard {
  readonly clientId: string
  readonly pinTries: readonly HistoricTry[]
  readonly cvvTries: readonly HistoricTry[]
  readonly authorizations: readonly AuthorizationRow[]
  /** Events that readers do not see yet. */
  readonly unpublished: readonly CardEvent[]
  readonly notes: readonly SealedNote[]
}

/** What a card has before a position; null where there is no such card. */
export const listRowsOfCard = async (
  connection: Connection,
  publicToken: PublicToken,
  { authorizationId, cvv, pin, sequence }: CardHistoryPosition,
): Promise<RowsOfCard | null> =>
  firstRow(
    await connection.query(rowsStatement, [publicToken, pin, cvv, authorizationId, sequence]),
  )

const scanEvents = (limit: number): string => `
  select position, event_id, sequence, type, occurred_at, request_id, operator_id, details
  from published_event
  where (public_token, sequence) < ($2, $3::integer) and public_token >= $2 and client_id = $1
  order by public_token desc, published_event.sequence desc limit ${limit}`

// Each endpoint by itself: a client has few.
const eventsStatement = statement(
  'list_events_of_card',
  `with page as materialized (${scanEvents(rowsMax)})
   select ${listed(`select position::text as "position", ${eventColumns} from page
       order by page.sequence desc`)} as "events",
     ${listed(`select webhook_id as "webhookId", position::text as "position", status,
         jsonb_array_length(tries) as "tries", tries -> -1 as "lastTry"
       from delivery
       where client_id = $1 and webhook_id = any(array(select webhook_id from webhook where client_id = $1))
         and position = any(array(select position from page))`)} as "deliveries"`,
)

/** Events of a card that readers see, newest first, and their deliveries. */
export interface PublishedOfCard {
  readonly events: readonly (CardEvent & { readonly position: string })[]
  readonly deliveries: readonly EventDelivery[]
}

export const listEventsOfCard = async (
  connection: Connection,
  clientId: string,
  publicToken: PublicToken,
  beforeSequence: number,
): Promise<PublishedOfCard> => {
  const values = [clientId, publicToken, beforeSequence]
  const rows = await connection.query<PublishedOfCard>(eventsStatement, values)
  return firstRow(rows) ?? { events: [], deliveries: [] }
}

const actsStatement = statement(
  'list_acts_on_card',
  `select act_id as "actId", number::float8 as "number", ${utc('acted_at')} as "at", act,
     client_id as "operatorId", request_id as "requestId"
   from audit_act
   where subject_kind = 'card' and subject = $1 and (subject, number) < ($1, $2::bigint)
   order by subject desc, audit_act.number desc limit ${rowsMax}`,
)

/** What operators were shown of a card, newest first. */
export const listActsOnCard = (
  connection: Connection,
  publicToken: PublicToken,
  beforeNumber: number,
): Promise<ActOnCard[]> => connection.query(actsStatement, [publicToken, beforeNumber])

/** So many events are looked at for what gave a card its status. */
const lookedAt = 200

const ofStatus = `type in ('card.created', 'card.status_changed')`

const statusEventStatement = statement(
  'find_event_of_status',
  `with page as materialized (${scanEvents(lookedAt)})
   select ${eventColumns} from page where ${ofStatus} order by page.sequence desc limit 1`,
)
const unpublishedStatusStatement = statement(
  'find_unpublished_event_of_status',
  `select ${eventColumns} from event
   where public_token = any(array[$1]) and not published and ${ofStatus}
   order by public_token desc, event.sequence desc limit 1`,
)

/** The event that gave a card the status that is stored; null where it is not among its newest. */
export const findEventOfStatus = async (
  connection: Connection,
  clientId: string,
  publicToken: PublicToken,
): Promise<CardEvent | null> => {
  const unpublished = await connection.query<CardEvent>(unpublishedStatusStatement, [publicToken])
  const values = [clientId, publicToken, newestOfCard.sequence]
  return (
    firstRow(unpublished) ??
    firstRow(await connection.query<CardEvent>(statusEventStatement, values))
  )
}

const noteStatement = statement(
  'find_note_of_event',
  `select encode(note, 'hex') as "note" from event
   where public_token = any(array[$1]) and sequence = $2 and note is not null limit 1`,
)

/** What was said of an act, sealed; hexadecimal, or null. */
export const findNoteOfEvent = async (
  connection: Connection,
  publicToken: PublicToken,
  sequence: number,
): Promise<string | null> =>
  firstRow<{ note: string }>(await connection.query(noteStatement, [publicToken, sequence]))
    ?.note ?? null
