import { type Connection, firstRow, statement } from './database.ts'
import type { EventType } from './events.ts'

/** A place in a client's feed: digits. Later is greater, and nothing ever comes before it. */
export type FeedPosition = string

/** The longest page, and one more that tells whether there is a next one. */
export const eventRowsMax = 101

/** An event as readers see it. */
export interface PlacedEvent {
  readonly position: FeedPosition
  readonly eventId: string
  readonly publicToken: string
  readonly sequence: number
  readonly type: EventType
  readonly occurredAt: Date
  /** The other members of its `data`, as JSON. */
  readonly details: string
}

const eventColumns = `position::text as "position", event_id as "eventId",
  public_token as "publicToken", sequence, type, occurred_at as "occurredAt", details`

// Bounds are row comparisons and limits are numbers, so that no plan reads all of a feed and sorts it, whatever
// the planner has heard of the client.
const listStatement = statement(
  'list_placed_events',
  `select ${eventColumns} from (
     select client_id, position, event_id, public_token, sequence, type, occurred_at, details
     from placed_event
     where (client_id, position) > ($1, $2::bigint) and client_id <= $1
     order by client_id, position limit ${eventRowsMax}
   ) as placed_event
   order by placed_event.position limit $3`,
)

// Each type is walked by itself, in its order: however rare they are, no others are looked at.
const listTypesStatement = statement(
  'list_placed_events_of_types',
  `select ${eventColumns} from placed_event
   where client_id = $1 and position = any(array(
     select walked.position
     from (select distinct type from unnest($4::text[]) as type) as asked
     cross join lateral (
       select position from placed_event
       where client_id = $1 and (placed_event.type, position) > (asked.type, $2::bigint)
         and placed_event.type <= asked.type
       order by placed_event.type, position limit ${eventRowsMax}
     ) as walked
     order by walked.position limit $3
   ))
   order by placed_event.position`,
)

/**
 * A client's events after a position, oldest first.
 * @param types null for all of them.
 * @param limit at most {@link eventRowsMax}.
 */
export const listPlacedEvents = (
  connection: Connection,
  clientId: string,
  after: FeedPosition,
  types: readonly EventType[] | null,
  limit: number,
): Promise<PlacedEvent[]> =>
  types === null
    ? connection.query(listStatement, [clientId, after, limit])
    : connection.query(listTypesStatement, [clientId, after, limit, types])

const findPositionStatement = statement(
  'find_event_position',
  `select position::text as "position" from placed_event
   where client_id = $1 and event_id = $2`,
)

/** Where an event of the client is, or null when it has none of this id, or keeps it no longer. */
export const findEventPosition = async (
  connection: Connection,
  clientId: string,
  eventId: string,
): Promise<FeedPosition | null> => {
  const rows = await connection.query<{ position: string }>(findPositionStatement, [
    clientId,
    eventId,
  ])
  return firstRow(rows)?.position ?? null
}

const newestStatement = statement(
  'find_newest_event',
  `select position::text as "position", event_id as "eventId" from placed_event
   where client_id = $1 order by placed_event.position desc limit 1`,
)

/** The client's last event, or null. */
export const findNewestEvent = async (
  connection: Connection,
  clientId: string,
): Promise<Pick<PlacedEvent, 'position' | 'eventId'> | null> =>
  firstRow(await connection.query(newestStatement, [clientId]))

const headsStatement = statement(
  'list_event_heads',
  `select client_id as "clientId", last_position::text as "lastPosition" from event_head
   where client_id = any($1)`,
)

/** The last position of each of these clients that has one. */
export const listEventHeads = (
  connection: Connection,
  clientIds: readonly string[],
): Promise<{ clientId: string; lastPosition: FeedPosition }[]> =>
  connection.query(headsStatement, [clientIds])
