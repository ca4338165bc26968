import { randomUUID } from 'node:crypto'
import type { Hsm } from '../../hsm/contract/hsm.ts'
import type { Database } from '../../storage/engine/database.ts'
import {
  listKeysInClear,
  moveKeyInClear,
  wipeKeysInClear,
} from '../../storage/idempotency/keys-in-clear.ts'
import { answerSubject, keyedRequest } from './idempotency.ts'

const atOnce = 100

/**
 * Puts keyed hashes in place of the idempotency keys that an earlier program kept as they came, before
 * anything is answered: a repeat from before the update still finds its first answer. Any number of
 * processes may do so at once.
 */
export async function hashKeysInClear({
  database,
  hsm,
}: {
  readonly database: Database
  readonly hsm: Hsm
}): Promise<void> {
  let rows = await listKeysInClear(database, atOnce)
  if (rows.length === 0) return
  while (rows.length > 0) {
    for (const row of rows) {
      const { answer, clientId, idempotencyKey } = row
      const keyed = await keyedRequest(hsm, { clientId, idempotencyKey, request: '' })
      const [keyHash] = keyed.keyHashes
      const text =
        answer && (await hsm.revealRecord('answer', `${clientId}\n${idempotencyKey}`, answer))
      const claimId = randomUUID()
      const sealed =
        text === null
          ? null
          : await hsm.sealRecord('answer', answerSubject(clientId, claimId), text)
      await moveKeyInClear(database, row, keyHash, claimId, sealed)
    }
    rows = await listKeysInClear(database, atOnce)
  }
  await wipeKeysInClear(database)
}
