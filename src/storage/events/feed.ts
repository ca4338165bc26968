import type { PublicToken } from '../../domain/identifiers.ts'
import { type Connection, firstRow } from '../engine/database.ts'
import { loadStatements } from '../engine/statements.ts'
import type { EventType } from './events.ts'

/**
 * A position in a client's feed: digits. Positions ascend, and no event is ever inserted before
 * another.
 */
export type FeedPosition = string

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

const declare = loadStatements(import.meta.url)

/** Selects a client's events. */
interface PublishedEventFilter {
  readonly after: FeedPosition
  /** Null for all types. */
  readonly types: readonly EventType[] | null
  /** At most 101: the longest page, and one more that shows whether there is a next one. */
  readonly limit: number
}

interface EventsAfter extends Pick<PublishedEventFilter, 'after' | 'limit'> {
  readonly clientId: string
}

const selectEvents = declare<EventsAfter, PublishedEvent>('list_placed_events')
const selectEventsByType = declare<EventsAfter & { types: readonly EventType[] }, PublishedEvent>(
  'list_placed_events_of_types',
)

/** Lists a client's events after a position, oldest first. */
export const listPublishedEvents = (
  connection: Connection,
  clientId: string,
  { after, limit, types }: PublishedEventFilter,
): Promise<PublishedEvent[]> =>
  types === null
    ? selectEvents(connection, { clientId, after, limit })
    : selectEventsByType(connection, { clientId, after, limit, types })

const selectPosition = declare<{ clientId: string; eventId: string }, { position: FeedPosition }>(
  'find_event_position',
)

/** Returns the position of an event, or null if the client has no stored event with this id. */
export const findEventPosition = async (
  connection: Connection,
  clientId: string,
  eventId: string,
): Promise<FeedPosition | null> =>
  firstRow(await selectPosition(connection, { clientId, eventId }))?.position ?? null

type NewestEvent = Pick<PublishedEvent, 'position' | 'eventId'>

const selectNewest = declare<{ clientId: string }, NewestEvent>('find_newest_event')

/** Returns the client's last event, or null. */
export const findNewestEvent = async (
  connection: Connection,
  clientId: string,
): Promise<NewestEvent | null> => firstRow(await selectNewest(connection, { clientId }))

interface EventHead {
  readonly clientId: string
  readonly lastPosition: FeedPosition
}

const selectHeads = declare<{ clientIds: readonly string[] }, EventHead>('list_event_heads')

/** Lists the last position of each of these clients that has one. */
export const listEventHeads = (
  connection: Connection,
  clientIds: readonly string[],
): Promise<EventHead[]> => selectHeads(connection, { clientIds })
