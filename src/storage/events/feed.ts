import type { PublicToken } from '../../domain/identifiers.ts'
import { type Connection, firstRow, statement } from '../engine/database.ts'
import type { EventType } from './events.ts'

/** A position in a client's feed: digits. Later is greater, and nothing ever comes before it. */
export type FeedPosition = string

/** The longest page, and one more that shows whether there is a next one. */
const eventRowsMax = 101

/** An event as readers see it. */
export interface PublishedEvent {
  readonly position: FeedPosition
  readonly eventId: string
  readonly publicToken: PublicToken
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
     from published_event
     where (client_id, position) > ($1, $2::bigint) and client_id <= $1
     order by client_id, position limit ${eventRowsMax}
   ) as published_event
   order by published_event.position limit $3`,
)

// Each type is scanned by itself, in its order: however rare they are, no others are looked at.
const listTypesStatement = statement(
  'list_placed_events_of_types',
  `select ${eventColumns} from published_event
   where client_id = $1 and position = any(array(
     select scanned.position
     from (select distinct type from unnest($4::text[]) as type) as asked
     cross join lateral (
       select position from published_event
       where client_id = $1 and (published_event.type, position) > (asked.type, $2::bigint)
         and published_event.type <= asked.type
       order by published_event.type, position limit ${eventRowsMax}
     ) as scanned
     order by scanned.position limit $3
   ))
   order by published_event.position`,
)

/** Which of a client's events are read. */
interface PublishedEventFilter {
  readonly after: FeedPosition
  /** Null for all of them. */
  readonly types: readonly EventType[] | null
  /** At most {@link eventRowsMax}. */
  readonly limit: number
}

/** A client's events after a position, oldest first. */
export const listPublishedEvents = (
  connection: Connection,
  clientId: string,
  { after, limit, types }: PublishedEventFilter,
): Promise<PublishedEvent[]> =>
  types === null
    ? connection.query(listStatement, [clientId, after, limit])
    : connection.query(listTypesStatement, [clientId, after, limit, types])

const findPositionStatement = statement(
  'find_event_position',
  `select position::text as "position" from published_event
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
  `select position::text as "position", event_id as "eventId" from published_event
   where client_id = $1 order by published_event.position desc limit 1`,
)

/** The client's last event, or null. */
export const findNewestEvent = async (
  connection: Connection,
  clientId: string,
): Promise<Pick<PublishedEvent, 'position' | 'eventId'> | null> =>
  firstRow(await connection.query(newestStatement, [clientId]))

const headsStatement = statement(
  'list_event_heads',
  `select client_id as "clientId", last_position::text as "lastPosition" from feed_head
   where client_id = any($1)`,
)

/** The last position of each of these clients that has one. */
export const listEventHeads = (
  connection: Connection,
  clientIds: readonly string[],
): Promise<{ clientId: string; lastPosition: FeedPosition }[]> =>
  connection.query(headsStatement, [clientIds])

const claimStatement = statement(
  'claim_event_stream',
  `with claimed as (
   insert into event_stream (client_id, slot, holder, leased_until)
   select $1, slot, $2, now() + make_interval(secs => $4)
   from generate_series(1, $3::integer) as slot
   where not exists (
     select 1 from event_stream taken
     where taken.client_id = $1 and taken.slot = slot.slot and taken.leased_until > now()
   )
   order by random() limit 1
   on conflict (client_id, slot) do update
     set holder = excluded.holder, leased_until = excluded.leased_until
     where excluded.leased_until - event_stream.leased_until >= make_interval(secs => $4)
   returning slot
   )
   select slot from claimed`,
)

/**
 * Takes one of a client's slots for a stream. Of several that ask for one slot at once a single one
 * gets it.
 * @returns whether a slot was had.
 */
export const claimStream = async (
  connection: Connection,
  clientId: string,
  holder: string,
  { seconds, slots }: { readonly seconds: number; readonly slots: number },
): Promise<boolean> =>
  firstRow(await connection.query(claimStatement, [clientId, holder, slots, seconds])) !== null

const renewStatement = statement(
  'renew_event_streams',
  `update event_stream set leased_until = now() + make_interval(secs => $2)
   from client
   where holder = any($1::uuid[]) and client.client_id = event_stream.client_id
     and client.active and 'events.read' = any(client.scopes)
   returning holder`,
)

/** Keeps the slots of streams whose clients may still read. @returns the holders that keep theirs. */
export const renewStreams = async (
  connection: Connection,
  holders: readonly string[],
  seconds: number,
): Promise<ReadonlySet<string>> => {
  const rows = await connection.query<{ holder: string }>(renewStatement, [holders, seconds])
  return new Set(rows.map(({ holder }) => holder))
}

const releaseStatement = statement(
  'release_event_stream',
  'delete from event_stream where client_id = $1 and holder = $2',
)

/** Frees the slot of a stream that has ended. */
export const releaseStream = async (
  connection: Connection,
  clientId: string,
  holder: string,
): Promise<void> => {
  await connection.query(releaseStatement, [clientId, holder])
}
