import type { Requester } from '../../domain/client.ts'
import type { EventType } from '../../domain/event-type.ts'
import type { PublicToken } from '../../domain/identifiers.ts'
import { parameterFault, validationFailed } from '../../domain/problem.ts'
import type { Connection } from '../../storage/engine/database.ts'
import * as storedFeed from '../../storage/events/feed.ts'

/** An event as its client reads it. */
export interface EventRecord {
  /** The `webhook-id` of its deliveries. */
  readonly id: string
  readonly type: EventType
  readonly timestamp: string
  readonly data: { readonly publicToken: PublicToken; readonly sequence: number } & Readonly<
    Record<string, unknown>
  >
}

/** Selects a client's events. */
export interface EventFilter {
  /** The id of the event before the first one. */
  readonly after: string | null
  /** Null for all types. */
  readonly types: readonly EventType[] | null
}

export const eventRecord = (event: storedFeed.PublishedEvent): EventRecord => ({
  id: event.eventId,
  type: event.type,
  timestamp: event.occurredAt.toISOString(),
  data: {
    publicToken: event.publicToken,
    sequence: event.sequence,
    ...(JSON.parse(event.details) as object),
  },
})

/**
 * Returns the position of the last event that a reader has seen.
 * @throws `Problem` `validation_failed`.
 */
export async function positionAfter(
  connection: Connection,
  clientId: string,
  eventId: string,
): Promise<storedFeed.FeedPosition> {
  const position = await storedFeed.findEventPosition(connection, clientId, eventId)
  // Continuing elsewhere would silently skip the lost events.
  if (position === null) {
    throw validationFailed(
      parameterFault('after', 'must be the id of an event that is still stored'),
    )
  }
  return position
}

/**
 * Lists the requester's events after one of them, or from the oldest stored one, in the order of
 * the feed.
 */
export async function listEvents(
  { database }: { readonly database: Connection },
  { clientId }: Requester,
  { after, types }: EventFilter,
  limit: number,
): Promise<EventRecord[]> {
  const position = after === null ? '0' : await positionAfter(database, clientId, after)
  const filter = { after: position, types, limit }
  return (await storedFeed.listPublishedEvents(database, clientId, filter)).map(eventRecord)
}
