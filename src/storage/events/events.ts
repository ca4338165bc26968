import { randomBytes } from 'node:crypto'
import type { EventType } from '../../domain/event-type.ts'
import type { PublicToken } from '../../domain/identifiers.ts'

export type { EventType }

/** One act on a card, as it enters the outbox. */
export interface NewEvent {
  readonly publicToken: PublicToken
  readonly type: EventType
  readonly requestId: string | null
  /** Of an operator who acted on a client's card; left out where somebody else did. */
  readonly operatorId?: string
  /**
   * Members of the event's `data` beside `publicToken` and `sequence`. No secret, no personal data.
   */
  readonly details: Readonly<Record<string, string | number | boolean>>
  /** What the client said of the act, sealed; nobody reads it from the event. */
  readonly note: Uint8Array | null
}

/**
 * An id for an event, where it is to be known before: as the database would make it (RFC 9562 5.7).
 */
export function newEventId(): string {
  const bytes = randomBytes(16)
  bytes.writeUIntBE(Date.now(), 0, 6)
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x70
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80
  const hex = bytes.toString('hex')
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
}

/** An event as the statement of an act takes it. */
export interface EventValues {
  readonly publicToken: PublicToken
  readonly eventType: EventType
  readonly requestId: string | null
  /** JSON. */
  readonly details: string
  readonly note: Uint8Array | null
}

export const eventParameters = (event: NewEvent): EventValues => ({
  publicToken: event.publicToken,
  eventType: event.type,
  requestId: event.requestId,
  details: JSON.stringify(event.details),
  note: event.note,
})
