import { type Connection, firstRow, statement } from './database.ts'
import type { EventType } from './events.ts'

/** A place in a client's feed: digits. Later is greater, and nothing ever comes before it. */
export type FeedPosition = string

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

const listStatement = statement(
  'list_placed_events',
  `select position::text as "position", event_id as "eventId", public_token as "publicToken",
     sequence, type, occurred_at as "occurredAt", details
   from placed_event
   where client_id = $1 and position > $2::bigint and ($3::text[] is null or type = any($3))
   order by placed_event.position limit $4`,
)

/** A client's events after a position, oldest first. @param types null for all of them. */
export const listPlacedEvents = (
  connection: Connection,
  clientId: string,
  after: FeedPosition,
  types: readonly EventType[] | null,
  limit: number,
): Promise<PlacedEvent[]> => connection.query(listStatement, [clientId, after, types, limit])

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
