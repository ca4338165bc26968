import type { PublicToken } from '../../domain/identifiers.ts'
import type { Connection, Statement } from '../engine/database.ts'
import { firstRow, isNotNullViolation, statement } from '../engine/database.ts'
import { eventValues, type NewEvent } from '../events/events.ts'
import { isChangeable, isOf } from './cards.ts'
import { type CardAndClientLimit, clock, isUsedUp, limitValues, useStatement } from './limits.ts'

/** What a disclosure shows of a card, as it was when it was put on record. */
export interface DisclosedCard {
  readonly publicToken: PublicToken
  readonly encryptedPan: Uint8Array
  /** `YYYY-MM-DD`. */
  readonly expiryDate: string
  readonly pinBlock: Uint8Array | null
  readonly pinKey: string
  readonly cvk: string
}

/** What must be so for a card to be disclosed. */
interface DisclosureTerms {
  readonly clientId: string
  /** `YYYY-MM-DD`: the card is not to be expired by then. */
  readonly today: string
  /** Whether its PIN is disclosed too, and so must be kept to be shown. */
  readonly includesPin: boolean
  /** Null where there are no limits. */
  readonly limits: CardAndClientLimit | null
}

// The card, then its limit, then its client's: the order in which all take their locks. Where no use is left the
// event lacks its client, which no event may, and so nothing of all this is done.
const record = (name: string, isLimited: boolean): Statement =>
  statement(
    name,
    `with ${clock}, disclosed as (
       update card set last_sequence = last_sequence + 1
       where public_token = $1 and ${isOf('$6')} and ${isChangeable('$7')}
         and (pin_block is not null or not $8::boolean)
         ${isLimited ? `and not ${isUsedUp('card', '$1', 9)} and not ${isUsedUp('client', '$6', 14)}` : ''}
       returning public_token, last_sequence, client_id, encrypted_pan, expiry_date, pin_block,
         pin_key, cvk
     ), ${isLimited ? limitedUses : 'client_use as (select client_id from disclosed)'}, recorded as (
       insert into event (public_token, sequence, client_id, type, request_id, details, note)
       select public_token, last_sequence, client_use.client_id, $2, $3, $4, $5
       from disclosed left join client_use on true
     )
     select public_token as "publicToken", encrypted_pan as "encryptedPan",
       expiry_date as "expiryDate", pin_block as "pinBlock", pin_key as "pinKey", cvk
     from disclosed`,
  )

const limitedUses = `card_use as (
    ${useStatement('card', 'disclosed', 9)}
  ), entitled as (
    select client_id from disclosed join card_use using (public_token)
  ), client_use as (
    ${useStatement('client', 'entitled', 14)}
  )`

const limitedStatement = record('record_disclosure', true)
const unlimitedStatement = record('record_unlimited_disclosure', false)

/**
 * Puts a disclosure on record and spends a use of the card's limit and of its client's: all of it, or nothing.
 * @returns the card, or null where its state or a limit does not allow it.
 */
export async function recordDisclosure(
  connection: Connection,
  event: NewEvent,
  { clientId, includesPin, limits, today }: DisclosureTerms,
): Promise<DisclosedCard | null> {
  const values = [...eventValues(event), clientId, today, includesPin]
  if (!limits) return firstRow(await connection.query(unlimitedStatement, values))
  const uses = [...limitValues(limits.perCard), ...limitValues(limits.perClient)]
  try {
    return firstRow(await connection.query(limitedStatement, [...values, ...uses]))
  } catch (error) {
    if (isNotNullViolation(error)) return null
    throw error
  }
}
