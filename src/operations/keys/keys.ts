import type { Hsm } from '../../hsm/contract/hsm.ts'
import type { KeyAdministration } from '../../hsm/contract/key-administration.ts'
import type { Connection, Database } from '../../storage/engine/database.ts'
import { type KeyAct, recordKeyAct } from '../acts/acts.ts'
import { type Answer, once, type RepeatableRequest } from '../idempotency/idempotency.ts'

/** The dependencies of the operations on keys. */
export interface KeyContext {
  readonly database: Database
  readonly hsm: Hsm & KeyAdministration
  readonly timings: KeyTimings
  /** The maximum number of rows that a re-encryption moves in a second. */
  readonly rowsPerSecond: number
  /** Identifies this process among those that re-encrypt. */
  readonly processId: string
  /** Writes a recorded act to the log. */
  logAct(act: KeyAct): void
}

/** The times of a rotation. All follow from the interval at which each process reads the keys. */
interface KeyTimings {
  /** The interval at which each process reads the keys. */
  readonly refreshMs: number
  /** A process that could not read the keys for this long refuses to answer. */
  readonly staleAfterMs: number
  /** How long a version is pending: every process then knows it, or refuses to answer. */
  readonly pendingMs: number
  /** After this time, no request is running that began with an older state of the keys. */
  readonly settleMs: number
}

export const keyTimings = (refreshMs: number): KeyTimings => ({
  refreshMs,
  staleAfterMs: 10 * refreshMs,
  pendingMs: 15 * refreshMs,
  settleMs: 30 * refreshMs,
})

/** Composes the name of a key version: `pan/2`. */
export const composeReference = (keyName: string, keyVersion: number): string =>
  `${keyName}/${keyVersion}`

/** Composes the name of a zone key, with its network, whose keys have names of their own. */
export const composeZoneReference = (key: string, clientId: string | null): string =>
  clientId === null ? key : `${clientId}/${key}`

/** A transaction that changes keys. */
export interface KeyChange {
  readonly connection: Connection
  /** Records an act. */
  record(act: KeyAct): Promise<void>
}

/**
 * Changes keys in one transaction with the record of the act, so that neither exists without the
 * other. The log gets the act after the commit.
 */
export const changeKeys = async <Result>(
  keys: KeyContext,
  work: (change: KeyChange) => Promise<Result>,
): Promise<Result> => (await changeKeysOnce(keys, null, work)).result

/**
 * The same for a request with an idempotency key: the key commits with the change, and a repeat
 * gets the first answer. The result must be JSON, so that a repeat answers the same.
 * @throws as `once`.
 */
export async function changeKeysOnce<Result>(
  keys: KeyContext,
  request: RepeatableRequest | null,
  work: (change: KeyChange) => Promise<Result>,
): Promise<Answer<Result>> {
  let acts: KeyAct[] = []
  const answer = await once(keys, request, (connection) => {
    // The work may be repeated from its beginning.
    acts = []
    return work({
      connection,
      async record(act) {
        await recordKeyAct(connection, act)
        acts.push(act)
      },
    })
  })
  if (!answer.replayed) for (const act of acts) keys.logAct(act)
  return answer
}
