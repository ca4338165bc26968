import { listPlacedEvents } from '../storage/event-feed.ts'
import { type EventFilter, type EventRecord, eventRecord, positionAfter } from './event-record.ts'
import type { Caller, Issuing } from './issuing.ts'

/** The caller's events after one of them, or from the oldest kept, in the order of the feed. */
export async function listEvents(
  { database }: Issuing,
  { clientId }: Caller,
  { after, types }: EventFilter,
  limit: number,
): Promise<EventRecord[]> {
  const position = after === null ? '0' : await positionAfter(database, clientId, after)
  return (await listPlacedEvents(database, clientId, position, types, limit)).map(eventRecord)
}
