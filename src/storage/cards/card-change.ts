import { type Connection, type SqlValue, type Statement, statement } from '../engine/database.ts'
import { eventValues, type NewEvent } from '../events/events.ts'
import {
  type ActOutcome,
  type Claim,
  claimOf,
  claimValues,
  outcomeOf,
} from '../idempotency/idempotency.ts'
import { isOf } from './cards.ts'

/** What is changed beside the event that is recorded. The values of its own begin at `$7`. */
interface CardChangeParts {
  /** How many values of its own it takes. */
  readonly values: number
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
  readonly plain: Statement
  readonly keyed: Statement
}

/**
 * Declares a change of a card, its event and the claim of its idempotency key, as one statement. The card's own row
 * numbers its events, so that the sequence has no gap whoever writes, and is locked after the key and before
 * all else. What was claimed is undone with the statement where nothing could be changed: an event has a client.
 */
export function cardChange(name: string, parts: CardChangeParts): CardChange {
  const { alongside = {}, card, first, values, where } = parts
  const names = Object.keys(alongside)
  const body = (isKeyed: boolean): string =>
    `with ${[
      ...(first ? [first] : []),
      ...(isKeyed ? [claimOf(7 + values)] : []),
      `changed as (
         update card set last_sequence = last_sequence + 1${card ? `, ${card}` : ''}
         ${isKeyed ? 'from claimed' : ''}
         where public_token = $1 and ${isOf('$6')} and ${where} ${isKeyed ? 'and is_whole' : ''}
         returning public_token, last_sequence, client_id
       )`,
      ...Object.entries(alongside).map(([alias, text]) => `${alias} as (${text})`),
    ].join(', ')}
     insert into event (public_token, sequence, client_id, type, request_id, details, note)
     select changed.public_token, last_sequence,
       ${names.length === 0 ? 'client_id' : `case when ${names.map((alias) => `${alias}.public_token is not null`).join(' and ')} then client_id end`},
       $2, $3, $4, $5
     from ${isKeyed ? 'claimed left join changed on true' : 'changed'}
       ${names.map((alias) => `left join ${alias} on true`).join(' ')}
     returning public_token as "publicToken"`
  return { plain: statement(name, body(false)), keyed: statement(`${name}_once`, body(true)) }
}

/** Whose card is changed, by what event, and under which claim. */
export interface CardAct {
  readonly clientId: string
  readonly event: NewEvent
  /** Null without an idempotency key. */
  readonly claim: Claim | null
}

/** Changes a card by one statement: all of it, or nothing. */
export const commitChange = (
  connection: Connection,
  { keyed, plain }: CardChange,
  { claim, clientId, event }: CardAct,
  values: readonly SqlValue[],
): Promise<ActOutcome> =>
  outcomeOf(claim, () =>
    connection.query(claim ? keyed : plain, [
      ...eventValues(event),
      clientId,
      ...values,
      ...(claim ? claimValues(claim) : []),
    ]),
  )
