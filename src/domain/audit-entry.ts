import { hash } from 'node:crypto'
import type { EventType } from './event-type.ts'
import type { TryKind } from './tries.ts'

/**
 * What came of an act. What was refused or failed changed nothing, or no more than the tries of a
 * card.
 */
type Outcome = 'done' | 'refused' | 'failed'

/** What an entry of the audit log says. Never a PAN, a PIN or a CVV, truncated or not. */
export interface AuditEntry {
  /** The id of the entry; of an act that an event reports, the event's. */
  readonly entry: string
  /** When, by the database's clock: RFC 3339 in UTC, to the microsecond. */
  readonly at: string
  readonly act: string
  /**
   * The client system, card network or administrator who acted; of what a card network did to a
   * card, the card's client.
   */
  readonly client?: string | undefined
  readonly request?: string | undefined
  /** The public token of the card. */
  readonly card?: string | undefined
  /** Of the card's events this is so manyth: each card's are without gaps. */
  readonly sequence?: number | undefined
  /** The key that was acted on. */
  readonly key?: string | undefined
  /** Whatever else was acted on: a product, a client, a process, a setting. */
  readonly subject?: string | undefined
  /** Of the acts on keys and of administration this is so manyth: they are without gaps. */
  readonly number?: number | undefined
  readonly outcome: Outcome
  readonly reason?: string | undefined
  /** How many of these there were, where more than one is told of. */
  readonly count?: number | undefined
  /** The thumbprint of the key of the cardholder's device (RFC 7638). */
  readonly device?: string | undefined
  readonly details?: object | undefined
}

/** What came of the act that an event reports. */
export const outcomesByEvent: Readonly<Record<EventType, Outcome>> = {
  'card.created': 'done',
  'card.status_changed': 'done',
  'card_data.revealed': 'done',
  'pin.set': 'done',
  'pin.revealed': 'done',
  'pin.attempt_failed': 'refused',
  'pin.blocked': 'done',
  'pin.unblocked': 'done',
  'cvv.attempt_failed': 'refused',
  'cvv.blocked': 'done',
  'cvv.unblocked': 'done',
}

/**
 * What came of a try, by its result; an unresolved one was compared with nothing, or lost with its
 * process.
 */
export const outcomesByResult: Readonly<Record<'match' | 'mismatch' | 'unresolved', Outcome>> = {
  match: 'done',
  mismatch: 'refused',
  unresolved: 'failed',
}

/** An attempt: its card, its kind and its number name it. */
interface NumberedAttempt {
  readonly publicToken: string
  readonly kind: TryKind
  readonly tryNumber: number
  /** RFC 3339. */
  readonly at: string
}

/**
 * Derives the id of an attempt's entry, which is the same for every process that enters it. It is a
 * version 8 UUID (RFC 9562 section 5.8): the instant in milliseconds, so that ids of one time are
 * adjacent in an index, and a hash.
 */
export function attemptEntryId({ at, kind, publicToken, tryNumber }: NumberedAttempt): string {
  const time = Date.parse(at).toString(16).padStart(12, '0')
  const hashed = hash('sha256', `pinfold attempt\n${publicToken} ${kind} ${tryNumber}`, 'hex')
  const variant = '89ab'[Number.parseInt(hashed.charAt(3), 16) % 4]
  return [
    time.slice(0, 8),
    time.slice(8),
    `8${hashed.slice(0, 3)}`,
    `${variant}${hashed.slice(4, 7)}`,
    hashed.slice(7, 19),
  ].join('-')
}

/** An entry's text as it is stored and committed to: one JSON object, its members in this order. */
export const entryText = (said: AuditEntry): string =>
  JSON.stringify({
    entry: said.entry,
    at: said.at,
    act: said.act,
    client: said.client,
    request: said.request,
    card: said.card,
    sequence: said.sequence,
    key: said.key,
    subject: said.subject,
    number: said.number,
    outcome: said.outcome,
    reason: said.reason,
    count: said.count,
    device: said.device,
    details: said.details && Object.keys(said.details).length > 0 ? said.details : undefined,
  })
