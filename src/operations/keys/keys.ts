import type { Hsm } from '../../hsm/contract/hsm.ts'
import type { KeyAdministration } from '../../hsm/contract/key-administration.ts'
import type { Connection, Database } from '../../storage/engine/database.ts'
import { type KeyAct, recordKeyAct } from '../acts/acts.ts'
import { type Answer, once, type RepeatableRequest } from '../idempotency/idempotency.ts'

/** What the operations on keys work with. */
export interface KeyContext {
  readonly database: Database
  readonly hsm: Hsm & KeyAdministration
  readonly timings: KeyTimings
  /** Rows that a re-encryption moves within a second, at most. */
  readonly rowsPerSecond: number
  /** Names this process among those that re-encrypt. */
  readonly processId: string
  /** Writes an act that is on record to the log. */
  logAct(act: KeyAct): void
}

/** The times of a rotation. All follow from how often each process looks for new keys. */
interface KeyTimings {
  /** Each process reads the keys so often. */
  readonly refreshMs: number
  /** A process that could not read them for so long refuses to answer. */
  readonly staleAfterMs: number
  /** A version is pending for so long: every process then knows it, or refuses. */
  readonly pendingMs: number
  /** After so long no request runs any more that began under an older state of the keys. */
  readonly settleMs: number
}

export const keyTimings = (refreshMs: number): KeyTimings => ({
  refreshMs,
  staleAfterMs: 10 * refreshMs,
  pendingMs: 15 * refreshMs,
  settleMs: 30 * refreshMs,
})

/** The name of a version of a key: `pan/2`. */
export const composeReference = (keyName: string, keyVersion: number): string =>
  `${keyName}/${keyVersion}`

/** The name of a zone key: with its network, whose keys have names of their own. */
export const composeZoneReference = (key: string, clientId: string | null): string =>
  clientId === null ? key : `${clientId}/${key}`

/** A transaction that changes something about keys. */
export interface KeyChange {
  readonly connection: Connection
  /** Puts an act on record. */
  record(act: KeyAct): Promise<void>
}

/**
 * Changes something about keys in one transaction with the record of it: there is neither a change
 * without its record nor a record without its change. The log gets it once it is committed.
 */
export const changeKeys = async <Result>(
  keys: KeyContext,
  work: (change: KeyChange) => Promise<Result>,
): Promise<Result> => (await changeKeysOnce(keys, null, work)).result

/**
 * The same for what an operator asked under an idempotency key: that commits with it, and a repeat
 * gets the first answer. The result is as JSON has it, or a repeat would answer another.
 * @throws what `once` throws.
 */
export async function changeKeysOnce<Result>(
  keys: KeyContext,
  request: RepeatableRequest | null,
  work: (change: KeyChange) => Promise<Result>,
): Promise<Answer<Result>> {
  let acts: KeyAct[] = []
  const answer = await once(keys, request, (connection) => {
    // The work may run again from its beginning.
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
