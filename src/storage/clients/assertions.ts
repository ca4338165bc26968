import { type Connection, onKey, statement } from '../engine/database.ts'

/** A `private_key_jwt` assertion that was accepted (RFC 7523 section 3, item 7). */
interface ClientAssertion {
  readonly clientId: string
  /** SHA-256 of its `jti`, so that a client cannot choose how much is stored. */
  readonly jtiHash: Uint8Array
  /** From here on its own `exp` refuses it, and it need not be remembered. */
  readonly expiresAt: Date
}

const rememberStatement = statement(
  'remember_client_assertion',
  `insert into client_assertion (client_id, jti_hash, expires_at) values ($1, $2, $3)
   on conflict (client_id, jti_hash) do nothing
   returning client_id as "clientId"`,
)

/**
 * Remembers an assertion, for all processes at once.
 * @returns false where the client has used this `jti` before: of many that race, one gets true.
 */
export const rememberAssertion = async (
  connection: Connection,
  { clientId, jtiHash, expiresAt }: ClientAssertion,
): Promise<boolean> =>
  (await connection.query(rememberStatement, [clientId, jtiHash, expiresAt])).length === 1

const pruneStatement = statement(
  'prune_client_assertions',
  `with expired as materialized (
     select client_id, jti_hash from client_assertion
     where expires_at < (select $1::timestamptz) order by expires_at limit $2
   )
   delete from client_assertion using expired
   where ${onKey('client_assertion', 'expired', ['client_id', 'jti_hash'])}
     and $1::timestamptz - expires_at > interval '0'
   returning client_assertion.client_id as "clientId"`,
)

/** Forgets at most `limit` assertions that had expired by then. @returns how many they were. */
export const pruneAssertions = async (
  connection: Connection,
  expiredBefore: Date,
  limit: number,
): Promise<number> => (await connection.query(pruneStatement, [expiredBefore, limit])).length
