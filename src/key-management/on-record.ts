import type { Connection } from '../storage/database.ts'
import { insertKeyAct } from '../storage/key-acts.ts'
import type { KeyAct, KeyManagement } from './key-management.ts'

/** Puts an act on record. */
export type RecordAct = (act: KeyAct) => Promise<void>

/**
 * Changes something about keys in one transaction with the record of it: there is neither a change
 * without its record nor a record without its change. The log hears of it once it is committed.
 */
export async function onRecord<Result>(
  keys: KeyManagement,
  work: (connection: Connection, record: RecordAct) => Promise<Result>,
): Promise<Result> {
  let acts: KeyAct[] = []
  const result = await keys.database.transaction((connection) => {
    // The work may run again from its beginning.
    acts = []
    return work(connection, async (act) => {
      const { clientId = null, requestId = null } = act
      await insertKeyAct(connection, { act: act.act, key: act.key, clientId, requestId })
      acts.push(act)
    })
  })
  for (const act of acts) keys.tellAct(act)
  return result
}
