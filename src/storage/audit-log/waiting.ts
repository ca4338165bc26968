import { type Connection, type Database, firstRow } from '../engine/database.ts'
import { loadStatements } from '../engine/statements.ts'

const declare = loadStatements(import.meta.url)

interface Age {
  /** Null if none waits. */
  readonly ageMs: number | null
}

const selectAct = declare<object, Age>('find_age_of_act_to_enter')
const selectRefusal = declare<object, Age>('find_age_of_refusal_to_enter')
const selectUnpublished = declare<object, Age>('find_age_of_event_to_publish')
const selectTry = declare<object, Age>('find_age_of_try_to_enter')
const selectEvent = declare<object, Age>('find_age_of_event_to_enter')
const selectEventOnNodes = declare<object, Age>('find_age_of_event_to_enter_on_nodes')

/**
 * Returns how long the oldest act without an entry has waited, by the database's clock; 0 when none
 * waits. The cost does not depend on how many wait: it reads the beginning of a few indexes.
 */
export async function findWaitingMs(
  database: Connection & Pick<Database, 'isCluster'>,
): Promise<number> {
  const selects = [
    selectAct,
    selectRefusal,
    selectUnpublished,
    selectTry,
    database.isCluster() ? selectEventOnNodes : selectEvent,
  ]
  let oldestMs = 0
  for (const select of selects) {
    oldestMs = Math.max(oldestMs, firstRow(await select(database, {}))?.ageMs ?? 0)
  }
  return oldestMs
}
