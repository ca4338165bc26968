import type { Connection } from '../engine/database.ts'
import { loadStatements } from '../engine/statements.ts'

const declare = loadStatements(import.meta.url)

/** New keys of a client, both sealed together. */
interface NewSigningKey {
  readonly keyId: string
  readonly sealedKeys: Uint8Array
  /** Ed25519, in the form of Standard Webhooks. */
  readonly publicKey: string
}

export interface SigningKeyRow extends NewSigningKey {
  readonly createdAt: Date
  /** Null for the present key. */
  readonly signsUntil: Date | null
}

const lockKeys = declare<{ clientId: string }>('lock_decision_signing_keys')
const selectKeys = declare<{ clientId: string }, SigningKeyRow>('list_decision_signing_keys')

/** Lists the keys that sign now, the present one first. */
export const listSigningKeys = (
  connection: Connection,
  clientId: string,
): Promise<SigningKeyRow[]> => selectKeys(connection, { clientId })

/** Lists the keys that sign now, and locks them until the transaction ends. */
export async function lockSigningKeys(
  connection: Connection,
  clientId: string,
): Promise<SigningKeyRow[]> {
  await lockKeys(connection, { clientId })
  return listSigningKeys(connection, clientId)
}

const retireKey = declare<{ clientId: string }>('retire_decision_signing_key')
const insertKey = declare<NewSigningKey & { clientId: string }>('insert_decision_signing_key')

/** Adds the present key of a client; the one before it signs for 24 hours more. */
export async function replaceSigningKey(
  connection: Connection,
  clientId: string,
  { keyId, publicKey, sealedKeys }: NewSigningKey,
): Promise<void> {
  await retireKey(connection, { clientId })
  await insertKey(connection, { clientId, keyId, publicKey, sealedKeys })
}

const deleteExpired = declare<{ limit: number }, { keyId: string }>('expire_decision_signing_keys')

/**
 * Deletes at most `limit` keys that no longer sign.
 * @returns their number.
 */
export const expireSigningKeys = async (connection: Connection, limit: number): Promise<number> =>
  (await deleteExpired(connection, { limit })).length
