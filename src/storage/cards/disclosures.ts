import type { PublicToken } from '../../domain/identifiers.ts'
import type { Database, SharedStatement } from '../engine/database.ts'
import { isNotNullViolation } from '../engine/database.ts'
import { sharedChange } from '../engine/shared-statements.ts'
import { eventValues, eventValueTypes, type NewEvent } from '../events/events.ts'
import { undoable } from '../idempotency/idempotency.ts'
import { isChangeable, isOf } from './cards.ts'
import {
  type CardAndClientLimit,
  clock,
  isUsedUp,
  limitTypes,
  limitValues,
  useStatement,
} from './limits.ts'

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
  /** What its event is known by. */
  readonly eventId: string
  /** Null where there are no limits. */
  readonly limits: CardAndClientLimit | null
}

const ownTypes = ['text', 'date', 'boolean', 'uuid'] as const
const limitsFirst = eventValueTypes.length + ownTypes.length + 1
const [cardLimit, clientLimit] = [limitsFirst, limitsFirst + limitTypes.length] as const

// Uses of one client are spent together.
const uses = `card_use as (
    ${useStatement('card', 'disclosed', cardLimit)}
  ), entitled as (
    select client_id, count(*)::integer as uses from disclosed join card_use using (public_token)
    group by client_id
  ), client_use as (
    ${useStatement('client', 'entitled', clientLimit, 'uses')}
  )`

// The card, then its limit, then its client's: the order in which all take their locks. Where no use is left the
// event lacks its client, which no event may, and so nothing of all this is done.
const declareRecord = (name: string, isLimited: boolean): SharedStatement =>
  sharedChange(name, {
    types: [...eventValueTypes, ...ownTypes, ...(isLimited ? [...limitTypes, ...limitTypes] : [])],
    common: { from: limitsFirst - 1, count: isLimited ? 2 * limitTypes.length : 0 },
    text: ({ answered, carried, lock }) => `${clock}, ${lock(`
       select 1 as one from card
       where public_token = any(array[$1]) and ${isOf('$6')} and ${isChangeable('$7')}
         and (pin_block is not null or not $8)
         ${isLimited ? `and not ${isUsedUp('card', '$1', cardLimit)} and not ${isUsedUp('client', '$6', clientLimit)}` : ''}
       limit 1 for no key update`)},
     disclosed as (
       update card set last_sequence = last_sequence + 1 from locked
       where public_token = any(array[$1])
       returning public_token, last_sequence, client_id, encrypted_pan, expiry_date, pin_block,
         pin_key, cvk ${carried}
     ), ${isLimited ? `${uses},` : ''} recorded as (
       insert into event (public_token, sequence, client_id, type, request_id, details, note, event_id)
       select disclosed.public_token, last_sequence,
         ${isLimited ? 'case when card_use.public_token is not null then client_use.client_id end' : 'disclosed.client_id'},
         $2, $3, $4, $5, $9
       from disclosed ${
         isLimited
           ? `left join card_use on card_use.public_token = disclosed.public_token
              left join client_use on client_use.client_id = disclosed.client_id`
           : ''
       } ${undoable}
     )
     select ${answered('disclosed')}, public_token as "publicToken", encrypted_pan as "encryptedPan",
       expiry_date as "expiryDate", pin_block as "pinBlock", pin_key as "pinKey", cvk
     from disclosed`,
  })

const limitedRecord = declareRecord('record_disclosure', true)
const unlimitedRecord = declareRecord('record_unlimited_disclosure', false)

/**
 * Puts a disclosure on record and spends a use of the card's limit and of its client's: all of it, or nothing.
 * @returns the card, or null where its state or a limit does not allow it.
 */
export async function recordDisclosure(
  database: Database,
  event: NewEvent,
  { clientId, eventId, includesPin, limits, today }: DisclosureTerms,
): Promise<DisclosedCard | null> {
  const uses = limits ? [...limitValues(limits.perCard), ...limitValues(limits.perClient)] : []
  const record = limits ? limitedRecord : unlimitedRecord
  const values = [...eventValues(event), clientId, today, includesPin, eventId, ...uses]
  try {
    return await database.change(record, event.publicToken, values)
  } catch (error) {
    if (isNotNullViolation(error)) return null
    throw error
  }
}
