import type { Connection } from '../engine/database.ts'
import { loadStatements } from '../engine/statements.ts'

/** A `private_key_jwt` assertion that was accepted (RFC 7523 section 3, item 7). */
interface ClientAssertion {
  readonly clientId: string
  /** SHA-256 of its `jti`, so that a client cannot choose how much is stored. */
  readonly jtiHash: Uint8Array
  /** From here on its own `exp` refuses it, and it need not be remembered. */
  readonly expiresAt: Date
}

const declare = loadStatements(import.meta.url)

const insertAssertion = declare<ClientAssertion>('remember_client_assertion')

/**
 * Remembers an assertion, for all processes at once.
 * @returns false where the client has used this `jti` before: of many that race, one gets true.
 */
export const rememberAssertion = async (
  connection: Connection,
  assertion: ClientAssertion,
): Promise<boolean> => (await insertAssertion(connection, assertion)).length === 1

const deleteExpired = declare<{ expiredBefore: Date; limit: number }>('prune_client_assertions')

/** Forgets at most `limit` assertions that had expired by then. @returns how many they were. */
export const expireAssertions = async (
  connection: Connection,
  expiredBefore: Date,
  limit: number,
): Promise<number> => (await deleteExpired(connection, { expiredBefore, limit })).length
