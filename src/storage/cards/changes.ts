import type { CardStatusCode } from '../../domain/card-status.ts'
import type { PublicToken } from '../../domain/identifiers.ts'
import type { TryKind } from '../../domain/tries.ts'
import { type Connection, onKey, statement } from '../engine/database.ts'
import { changeWithEvent, eventValues, type NewEvent } from '../events/events.ts'
import { isOpen } from './cards.ts'

const setStatusStatement = changeWithEvent('set_card_status', { card: 'status_code = $6' })

/** Moves a card to another status. */
export const updateCardStatus = async (
  connection: Connection,
  event: NewEvent,
  statusCode: CardStatusCode,
): Promise<void> => {
  await connection.query(setStatusStatement, [...eventValues(event), statusCode])
}

/** A PIN as it is kept: one of the two forms, and the key it is kept under. */
interface PinColumns {
  readonly pinBlock: Uint8Array | null
  readonly pvv: string | null
  readonly pinKey: string
}

const setPinStatement = changeWithEvent('set_pin', {
  card: 'pin_block = $6, pvv = $7, pin_key = $8',
})

/** Keeps another PIN. The tries stay as they are. */
export const updatePin = async (
  connection: Connection,
  event: NewEvent,
  { pinBlock, pinKey, pvv }: PinColumns,
): Promise<void> => {
  await connection.query(setPinStatement, [...eventValues(event), pinBlock, pvv, pinKey])
}

const restoreTriesStatement = changeWithEvent('restore_tries', {
  alongside: `update try_counter
    set restored = spent, epoch = epoch + 1, blocked_by_client = false, block_reported = false
    where public_token = $1 and kind = $6`,
})

/** Gives back every try and opens a new epoch. */
export const restoreTries = async (
  connection: Connection,
  event: NewEvent,
  kind: TryKind,
): Promise<void> => {
  await connection.query(restoreTriesStatement, [...eventValues(event), kind])
}

const spendAllTriesStatement = changeWithEvent('spend_all_tries', {
  alongside: `update try_counter
    set spent = restored + try_limit, epoch = epoch + 1, blocked_by_client = true,
      block_reported = true
    where public_token = $1 and kind = $6`,
})

/** Takes every try away at the client's word and opens a new epoch. */
export const spendAllTries = async (
  connection: Connection,
  event: NewEvent,
  kind: TryKind,
): Promise<void> => {
  await connection.query(spendAllTriesStatement, [...eventValues(event), kind])
}

const expireStatement = statement(
  'expire_cards',
  `with due as materialized (
     select public_token, status_code from card
     where ${isOpen} and expiry_date < (select $1::date)
     order by expiry_date limit $2
   ), expired as (
     update card set status_code = '54', last_sequence = last_sequence + 1
     from due
     where ${onKey('card', 'due', ['public_token', 'status_code'])}
       and $1::date - card.expiry_date > 0
     returning card.public_token, last_sequence, client_id, due.status_code
   )
   insert into event (public_token, sequence, client_id, type, details)
   select public_token, last_sequence, client_id, 'card.status_changed',
     json_build_object('from', status_code, 'to', '54') from expired
   returning public_token as "publicToken"`,
)

/**
 * Moves some of the cards whose last day is before `today` (`YYYY-MM-DD`) to `54`, each with its
 * event, once, however many processes sweep.
 * @returns how many.
 */
export const expireCards = async (
  connection: Connection,
  today: string,
  limit: number,
): Promise<number> => (await connection.query(expireStatement, [today, limit])).length

/** A sealed PIN that was taken for a card. */
interface PinEnvelopeRow {
  readonly publicToken: PublicToken
  /** SHA-256 of its `jti`. */
  readonly jtiHash: Uint8Array
  /** From here on its own `iat` refuses it, and it need not be remembered. */
  readonly expiresAt: Date
}

const rememberStatement = statement(
  'remember_pin_envelope',
  `insert into pin_envelope (public_token, jti_hash, expires_at) values ($1, $2, $3)
   on conflict (public_token, jti_hash) do nothing
   returning public_token as "publicToken"`,
)

/**
 * Remembers an envelope, in the transaction of the change that it makes.
 * @returns false where the card has had it before: of many that race, one gets true.
 */
export const rememberPinEnvelope = async (
  connection: Connection,
  { expiresAt, jtiHash, publicToken }: PinEnvelopeRow,
): Promise<boolean> =>
  (await connection.query(rememberStatement, [publicToken, jtiHash, expiresAt])).length === 1

const pruneStatement = statement(
  'prune_pin_envelopes',
  `with expired as materialized (
     select public_token, jti_hash from pin_envelope
     where expires_at < (select $1::timestamptz) order by expires_at limit $2
   )
   delete from pin_envelope using expired
   where ${onKey('pin_envelope', 'expired', ['public_token', 'jti_hash'])}
     and $1::timestamptz - expires_at > interval '0'
   returning pin_envelope.public_token as "publicToken"`,
)

/** Forgets at most `limit` envelopes that had expired by then. @returns how many they were. */
export const prunePinEnvelopes = async (
  connection: Connection,
  expiredBefore: Date,
  limit: number,
): Promise<number> => (await connection.query(pruneStatement, [expiredBefore, limit])).length
