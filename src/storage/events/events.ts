import type { EventType } from '../../domain/event-type.ts'
import type { PublicToken } from '../../domain/identifiers.ts'
import { type Statement, statement } from '../engine/database.ts'

export type { EventType }

/** One act on a card, as it enters the outbox. */
export interface NewEvent {
  readonly publicToken: PublicToken
  readonly type: EventType
  readonly requestId: string | null
  /** Members of the event's `data` beside `publicToken` and `sequence`. No secret, no personal data. */
  readonly details: Readonly<Record<string, string | number | boolean>>
  /** What the client said of the act, sealed; nobody reads it from the event. */
  readonly note: Uint8Array | null
}

/** What a statement changes beside recording it. */
interface CardChange {
  /** Columns of the card's own row: `status_code = $6`. */
  readonly card?: string
  /** A statement over the card's other rows. */
  readonly alongside?: string
}

/**
 * A statement that changes a card's rows and records its event at once. The card's own row numbers its
 * events, so that the sequence has no gap whoever writes.
 * Its first parameters are the event's: `$1` token, `$2` type, `$3` request id, `$4` details, `$5` note.
 */
export const changeWithEvent = (name: string, { alongside, card }: CardChange): Statement =>
  statement(
    name,
    `with ${alongside ? `changed as (${alongside}), ` : ''}numbered as (
       update card set last_sequence = last_sequence + 1${card ? `, ${card}` : ''}
       where public_token = $1
       returning public_token, last_sequence, client_id
     )
     insert into event (public_token, sequence, client_id, type, request_id, details, note)
     select public_token, last_sequence, client_id, $2, $3, $4, $5 from numbered`,
  )

/** The first five values of a statement made by `changeWithEvent`. */
export const eventValues = (event: NewEvent) =>
  [
    event.publicToken,
    event.type,
    event.requestId,
    JSON.stringify(event.details),
    event.note,
  ] as const
