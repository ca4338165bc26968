import type { Connection } from '../engine/database.ts'
import { loadStatements } from '../engine/statements.ts'

/** An accepted `private_key_jwt` assertion (RFC 7523 section 3, item 7). */
interface ClientAssertion {
  readonly clientId: string
  /** SHA-256 of its `jti`, so that a client cannot choose how much is stored. */
  readonly jtiHash: Uint8Array
  /** After this instant, its own `exp` makes it invalid, and it need not be stored. */
  readonly expiresAt: Date
}

const declare = loadStatements(import.meta.url)

const insertAssertion = declare<ClientAssertion>('remember_client_assertion')

/**
 * Stores an assertion for all processes.
 * @returns false if the client has used this `jti` before: of several concurrent calls, one gets
 *   true.
 */
export const rememberAssertion = async (
  connection: Connection,
  assertion: ClientAssertion,
): Promise<boolean> => (await insertAssertion(connection, assertion)).length === 1

const deleteExpired = declare<{ expiredBefore: Date; limit: number }>('prune_client_assertions')

/**
 * Deletes at most `limit` expired assertions.
 * @returns their number.
 */
export const expireAssertions = async (
  connection: Connection,
  expiredBefore: Date,
  limit: number,
): Promise<number> => (await deleteExpired(connection, { expiredBefore, limit })).length
