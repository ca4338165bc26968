import type { PublicToken } from '../../domain/identifiers.ts'
import { type Connection, firstRow } from '../engine/database.ts'
import { loadStatements } from '../engine/statements.ts'
import type { EventType } from './events.ts'

/** A position in a client's feed: digits. Later is greater, and nothing ever comes before it. */
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

/** Which of a client's events are read. */
interface PublishedEventFilter {
  readonly after: FeedPosition
  /** Null for all of them. */
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

/** A client's events after a position, oldest first. */
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

/** Where an event of the client is, or null when it has none of this id, or keeps it no longer. */
export const findEventPosition = async (
  connection: Connection,
  clientId: string,
  eventId: string,
): Promise<FeedPosition | null> =>
  firstRow(await selectPosition(connection, { clientId, eventId }))?.position ?? null

type NewestEvent = Pick<PublishedEvent, 'position' | 'eventId'>

const selectNewest = declare<{ clientId: string }, NewestEvent>('find_newest_event')

/** The client's last event, or null. */
export const findNewestEvent = async (
  connection: Connection,
  clientId: string,
): Promise<NewestEvent | null> => firstRow(await selectNewest(connection, { clientId }))

interface EventHead {
  readonly clientId: string
  readonly lastPosition: FeedPosition
}

const selectHeads = declare<{ clientIds: readonly string[] }, EventHead>('list_event_heads')

/** The last position of each of these clients that has one. */
export const listEventHeads = (
  connection: Connection,
  clientIds: readonly string[],
): Promise<EventHead[]> => selectHeads(connection, { clientIds })

/** A stream that is to hold one of its client's slots. */
interface StreamClaim {
  readonly clientId: string
  readonly holder: string
  readonly seconds: number
  readonly slots: number
}

const claimSlot = declare<StreamClaim>('claim_event_stream')

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
  firstRow(await claimSlot(connection, { clientId, holder, seconds, slots })) !== null

const renewSlots = declare<{ holders: readonly string[]; seconds: number }, { holder: string }>(
  'renew_event_streams',
)

/**
 * Keeps the slots of streams whose clients may still read.
 * @returns the holders that keep theirs.
 */
export const renewStreams = async (
  connection: Connection,
  holders: readonly string[],
  seconds: number,
): Promise<ReadonlySet<string>> => {
  const rows = await renewSlots(connection, { holders, seconds })
  return new Set(rows.map(({ holder }) => holder))
}

const deleteSlot = declare<{ clientId: string; holder: string }>('release_event_stream')

/** Frees the slot of a stream that has ended. */
export const releaseStream = async (
  connection: Connection,
  clientId: string,
  holder: string,
): Promise<void> => {
  await deleteSlot(connection, { clientId, holder })
}
