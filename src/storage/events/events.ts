import { randomBytes } from 'node:crypto'
import type { EventType } from '../../domain/event-type.ts'
import type { PublicToken } from '../../domain/identifiers.ts'

export type { EventType }

/** An act on a card, as it is written to the outbox. */
export interface NewEvent {
  readonly publicToken: PublicToken
  readonly type: EventType
  readonly requestId: string | null
  /** The operator who acted on a client's card; absent for other actors. */
  readonly operatorId?: string
  /**
   * The members of the event's `data` except `publicToken` and `sequence`, without secrets and
   * personal data.
   */
  readonly details: Readonly<Record<string, string | number | boolean | readonly string[]>>
  /** The client's sealed note on the act. Readers of events do not see it. */
  readonly note: Uint8Array | null
}

/**
 * Generates an id of an event that is needed before its insert, in the database's form (RFC 9562
 * 5.7).
 */
export function newEventId(): string {
  const bytes = randomBytes(16)
  bytes.writeUIntBE(Date.now(), 0, 6)
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x70
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80
  const hex = bytes.toString('hex')
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
}

/** An event as the parameters of a statement. */
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
