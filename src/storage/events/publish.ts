import type { PublicToken } from '../../domain/identifiers.ts'
import type { Connection } from '../engine/database.ts'
import { loadStatements } from '../engine/statements.ts'

/** An unpublished event of the outbox. */
export interface UnpublishedEvent {
  readonly clientId: string
  readonly publicToken: PublicToken
  readonly sequence: number
  readonly eventId: string
  readonly type: string
  /** In the database's form, to the microsecond. */
  readonly occurredAt: string
  readonly details: string
  readonly requestId: string | null
  readonly operatorId: string | null
  /** Whether the card's previous event is unpublished, too. */
  readonly followsUnpublished: boolean
}

const declare = loadStatements(import.meta.url)

/** The position from which a list of events continues. */
interface OutboxPosition extends Pick<UnpublishedEvent, 'occurredAt' | 'sequence'> {
  readonly publicToken: PublicToken | ''
}

/** The position before all events. */
export const outboxStart: OutboxPosition = { occurredAt: '-infinity', publicToken: '', sequence: 0 }

interface UnpublishedFilter extends OutboxPosition {
  readonly leftClientIds: readonly string[]
  readonly limit: number
}

const selectUnpublished = declare<UnpublishedFilter, UnpublishedEvent>('list_unplaced_events')

/**
 * Lists the oldest unpublished events after a position, oldest first.
 * @param leftClientIds the clients whose events are omitted.
 */
export const listUnpublishedEvents = (
  connection: Connection,
  { occurredAt, publicToken, sequence }: OutboxPosition,
  leftClientIds: readonly string[],
  limit: number,
): Promise<UnpublishedEvent[]> =>
  selectUnpublished(connection, { occurredAt, publicToken, sequence, leftClientIds, limit })

interface EventsToPublish {
  readonly clientId: string
  /** A list of {@link UnpublishedEvent}, each with its `ordinal`, as JSON. */
  readonly events: string
  readonly count: number
}

const publishEvents = declare<EventsToPublish>('publish_events')

/**
 * Publishes events of one client, in this order, at the positions after the last one, and queues
 * them for the subscribed webhooks. A repeat, or a concurrent call, publishes none twice.
 */
export const insertPublishedEvents = async (
  connection: Connection,
  clientId: string,
  events: readonly UnpublishedEvent[],
): Promise<void> => {
  const given = events.map((event, index) => ({ ...event, ordinal: index + 1 }))
  await publishEvents(connection, {
    clientId,
    events: JSON.stringify(given),
    count: events.length,
  })
}

interface EventKeys {
  readonly times: readonly string[]
  readonly publicTokens: readonly PublicToken[]
  readonly sequences: readonly number[]
}

const updatePublished = declare<EventKeys>('mark_events_published')

/** Marks events of the outbox as published. */
export const markPublished = async (
  connection: Connection,
  events: readonly UnpublishedEvent[],
): Promise<void> => {
  await updatePublished(connection, {
    times: events.map(({ occurredAt }) => occurredAt),
    publicTokens: events.map(({ publicToken }) => publicToken),
    sequences: events.map(({ sequence }) => sequence),
  })
}
