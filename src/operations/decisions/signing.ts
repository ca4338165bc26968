import { LRUCache } from 'lru-cache'
import { DecisionKeys, decisionKeysSubject } from '../../domain/decision-keys.ts'
import type { Hsm } from '../../hsm/contract/hsm.ts'
import { listSigningKeys } from '../../storage/decisions/signing-keys.ts'
import type { Database } from '../../storage/engine/database.ts'
import { createFreshValues } from './fresh-values.ts'

/** Signs the requests to clients' endpoints, with keys that were read at most a second ago. */
export interface DecisionSigner {
  /**
   * Signs a request with each valid key of its client, the present one first.
   * @returns the headers of Standard Webhooks, and `webhook-key-id` with the id of the key of each
   *   signature, in the same order.
   */
  signDecision(
    clientId: string,
    decisionId: string,
    at: Date,
    body: string,
  ): Promise<Record<string, string>>
  /** Forgets all keys: after a rotation by this process. */
  forget(): void
}

/** Opened keys in memory. A client has one, and two for a day after a rotation. */
const openedMax = 1_000

/** A key is opened again after this time. A key that is not used leaves the memory. */
const openedMs = 3_600_000

interface SignerOptions {
  readonly database: Database
  readonly hsm: Hsm
}

export function createDecisionSigner({ database, hsm }: SignerOptions): DecisionSigner {
  // By their sealed form, so that a key in use is opened once an hour.
  const opened = new LRUCache<string, DecisionKeys>({ max: openedMax, ttl: openedMs })
  const values = createFreshValues(async (clientId) => {
    const rows = await listSigningKeys(database, clientId)
    return Promise.all(
      rows.map(async ({ keyId, sealedKeys }) => {
        const name = `${clientId}\n${Buffer.from(sealedKeys).toString('base64')}`
        const subject = decisionKeysSubject(clientId, keyId)
        const keys =
          opened.get(name) ??
          new DecisionKeys(keyId, await hsm.revealRecord('decision-keys', subject, sealedKeys))
        opened.set(name, keys)
        return keys
      }),
    )
  })
  return {
    async signDecision(clientId, decisionId, at, body) {
      const timestamp = String(Math.floor(at.getTime() / 1_000))
      const keys = await values.find(clientId)
      if (keys.length === 0) throw new Error('The client has no keys that sign decisions.')
      const signatures = keys.flatMap((each) => each.sign(decisionId, timestamp, body))
      const keyIds = keys.flatMap(({ keyId }) => [keyId, keyId])
      return {
        'webhook-id': decisionId,
        'webhook-timestamp': timestamp,
        'webhook-signature': signatures.join(' '),
        'webhook-key-id': keyIds.join(' '),
      }
    },
    forget: values.forget,
  }
}
