import { once } from '../idempotency/once.ts'
import type { Answer, RepeatableRequest } from '../idempotency/remembered.ts'
import type { Connection } from '../storage/database.ts'
import { insertKeyAct } from '../storage/key-acts.ts'
import type { KeyAct, KeyManagement } from './key-management.ts'

/** Puts an act on record. */
export type RecordAct = (act: KeyAct) => Promise<void>

type Work<Result> = (connection: Connection, record: RecordAct) => Promise<Result>

/**
 * Changes something about keys in one transaction with the record of it: there is neither a change
 * without its record nor a record without its change. The log hears of it once it is committed.
 */
export const onRecord = async <Result>(keys: KeyManagement, work: Work<Result>): Promise<Result> =>
  (await onRecordOnce(keys, null, work)).result

/**
 * The same for what an operator asked under an idempotency key: that commits with it, and a repeat gets
 * the first answer. The result is as JSON has it, or a repeat would answer another.
 * @throws what `once` throws.
 */
export async function onRecordOnce<Result>(
  keys: KeyManagement,
  request: RepeatableRequest | null,
  work: Work<Result>,
): Promise<Answer<Result>> {
  let acts: KeyAct[] = []
  const answer = await once(keys, request, (connection) => {
    // The work may run again from its beginning.
    acts = []
    return work(connection, async (act) => {
      const { clientId = null, requestId = null } = act
      await insertKeyAct(connection, { act: act.act, key: act.key, clientId, requestId })
      acts.push(act)
    })
  })
  if (!answer.replayed) for (const act of acts) keys.tellAct(act)
  return answer
}
