import { type Connection, onKey, statement } from './database.ts'

/** A sealed PIN that was taken for a card. */
export interface PinEnvelopeRow {
  readonly publicToken: string
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
