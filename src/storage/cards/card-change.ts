import type { Database, SharedStatement, SqlScalar } from '../engine/database.ts'
import { sharedChange } from '../engine/shared-statements.ts'
import { eventValues, eventValueTypes } from '../events/events.ts'
import {
  claimOf,
  claimTypes,
  claimValues,
  isDone,
  undoable,
  withClaim,
} from '../idempotency/idempotency.ts'
import type { CardAct } from './card-act.ts'
import { isOf } from './cards.ts'

/** What is changed beside the event that is recorded. The values of its own begin at `$7`. */
interface CardChangeParts {
  /** The types of the values of its own. */
  readonly types: readonly string[]
  /** So many of them, the first, are the same whichever card is changed. */
  readonly common?: number
  /** Columns of the card's own row: `status_code = $7`. */
  readonly card?: string
  /** What must be so of the card's own row. */
  readonly where: string
  /** Tables that others are read from, before anything is changed. */
  readonly first?: string
  /**
   * Statements over other rows, by name. Each hangs on `changed`, the card's row, and returns its `public_token`:
   * where one returns none, nothing is done.
   */
  readonly alongside?: Readonly<Record<string, string>>
}

/** A change of a client's card, with and without an idempotency key. */
interface CardChange {
  readonly plain: SharedStatement
  readonly keyed: SharedStatement
}

/**
 * Declares a change of a card, its event and the claim of its idempotency key, as one statement. The card's own row
 * is locked first, and numbers its events, so that the sequence has no gap whoever writes. What cannot be done in
 * whole undoes itself: an event has a client.
 */
export function cardChange(name: string, parts: CardChangeParts): CardChange {
  const ownTypes = [...eventValueTypes, 'text', ...parts.types, 'text']
  const common = { from: eventValueTypes.length + 1, count: parts.common ?? 0 }
  const operator = `$${ownTypes.length}`
  const claimFirst = ownTypes.length + 1
  const { alongside = {}, card, first, where } = parts
  const names = Object.keys(alongside)
  const declare = (name: string, isKeyed: boolean): SharedStatement => {
    const isWhole = names.map((alias) => `${alias}.public_token is not null`).join(' and ')
    const types = isKeyed ? [...ownTypes, ...claimTypes] : ownTypes
    return sharedChange(name, {
      types,
      common,
      text: ({ answered, carried, lock }) =>
        `${[
          ...(first ? [first] : []),
          lock(`select 1 as one from card where public_token = any(array[$1]) and ${isOf('$6')} and ${where}
          limit 1 for no key update`),
          ...(isKeyed ? [claimOf(claimFirst, 'locked')] : []),
          `changed as (
           update card set last_sequence = last_sequence + 1${card ? `, ${card}` : ''}
           from locked ${isKeyed ? withClaim(claimFirst) : ''}
           where public_token = any(array[$1])
           returning public_token, last_sequence, client_id ${carried}
         )`,
          ...Object.entries(alongside).map(([alias, text]) => `${alias} as (${text})`),
          `recorded as (
           insert into event (public_token, sequence, client_id, type, request_id, details, note, operator_id)
           select changed.public_token, last_sequence,
             ${isWhole ? `case when ${isWhole} then client_id end` : 'client_id'}, $2, $3, $4, $5, ${operator}
           from changed
           ${names.map((alias) => `left join ${alias} on ${alias}.public_token = changed.public_token`).join(' ')}
           ${undoable}
         )`,
        ].join(', ')} select ${answered('changed')} from changed`,
    })
  }
  return { plain: declare(name, false), keyed: declare(`${name}_once`, true) }
}

/** Changes a card by one statement. @returns whether it was done: all of it, or nothing. */
export const commitChange = (
  database: Database,
  { keyed, plain }: CardChange,
  { claim, clientId, event }: CardAct,
  values: readonly SqlScalar[],
): Promise<boolean> =>
  isDone(() =>
    database.change(claim ? keyed : plain, event.publicToken, [
      ...eventValues(event),
      clientId,
      ...values,
      event.operatorId ?? null,
      ...(claim ? claimValues(claim) : []),
    ]),
  )
