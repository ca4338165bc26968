import { hash } from 'node:crypto'
import type { EventType } from './event-type.ts'
import type { TryKind } from './tries.ts'

/**
 * The outcome of an act. A refused or failed act changed nothing, except perhaps the tries of a
 * card.
 */
type Outcome = 'done' | 'refused' | 'failed'

/**
 * The content of an entry of the audit log. It never holds a PAN, a PIN or a CVV, truncated or not.
 */
export interface AuditEntry {
  /** The id of the entry; for an act that an event reports, the id of the event. */
  readonly entry: string
  /** The time of the act by the database's clock: RFC 3339 in UTC, to the microsecond. */
  readonly at: string
  readonly act: string
  /**
   * The client system, card network or administrator who acted; for an act of a card network on a
   * card, the card's client.
   */
  readonly client?: string | undefined
  readonly request?: string | undefined
  /** The public token of the card. */
  readonly card?: string | undefined
  /** The number of the event among the events of its card, without gaps. */
  readonly sequence?: number | undefined
  /** The key that was acted on. */
  readonly key?: string | undefined
  /** Any other subject of the act: a product, a client, a process, a setting. */
  readonly subject?: string | undefined
  /** The number of the act among the acts on keys or of administration, without gaps. */
  readonly number?: number | undefined
  readonly outcome: Outcome
  readonly reason?: string | undefined
  /** How many acts the entry reports, if more than one. */
  readonly count?: number | undefined
  /** The thumbprint of the key of the cardholder's device (RFC 7638). */
  readonly device?: string | undefined
  readonly details?: object | undefined
}

/** Acts that only operators can do. A refused one has no other mark of an operator. */
const actsOfOperators: readonly string[] = ['pan.searched', 'cardholder.revealed']

/**
 * Whether an operator or an administrator acted. An act of administration has a number; an act of
 * an operator on a card names the card's client.
 */
export const isByOperator = ({ act, client, details = {}, number }: AuditEntry): boolean =>
  client !== undefined &&
  (number !== undefined || 'cardClient' in details || actsOfOperators.includes(act))

/** The outcome of the act that an event reports. */
export const outcomesByEvent: Readonly<Record<EventType, Outcome>> = {
  'card.created': 'done',
  'card.status_changed': 'done',
  'card.controls_changed': 'done',
  'card.changed': 'done',
  'card.renewal_ordered': 'done',
  'card.renewed': 'done',
  'card.renewal_cancelled': 'done',
  'card.renewal_due': 'done',
  'card.delivery_changed': 'done',
  'card.converted': 'done',
  'card.replaced': 'done',
  'card.activated': 'done',
  'card.retired': 'done',
  'card_data.revealed': 'done',
  'pin.set': 'done',
  'pin.revealed': 'done',
  'pin.attempt_failed': 'refused',
  'pin.blocked': 'done',
  'pin.unblocked': 'done',
  'cvv.attempt_failed': 'refused',
  'cvv.blocked': 'done',
  'cvv.unblocked': 'done',
  'authorization.approved': 'done',
  'authorization.declined': 'refused',
  'decision.late': 'refused',
  'decision_endpoint.degraded': 'done',
  'decision_endpoint.recovered': 'done',
  'payment.changed': 'done',
  'payment.forced': 'done',
  'payment.expired': 'done',
  'chip.command_queued': 'done',
  'chip.command_sent': 'done',
  'chip.command_done': 'done',
  'chip.command_failed': 'failed',
  'chip.command_unconfirmed': 'failed',
}

/**
 * The outcome of a try by its result. The value of an unresolved try was not compared, or the
 * result was lost with its process.
 */
export const outcomesByResult: Readonly<Record<'match' | 'mismatch' | 'unresolved', Outcome>> = {
  match: 'done',
  mismatch: 'refused',
  unresolved: 'failed',
}

/** An attempt, identified by its card, kind and number. */
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

/**
 * Returns the text of an entry as it is stored and committed to: one JSON object with its members
 * in this order.
 */
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
