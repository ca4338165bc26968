import { isInstallationKey, type KeyedColumn, keyCatalogue } from '../../hsm/contract/catalogue.ts'
import { retireOlderHsmKeys } from '../../storage/keys/hsm-keys.ts'
import {
  beginKeyPassRound,
  finishKeyPass,
  type KeyPassRow,
  stepKeyPass,
} from '../../storage/keys/re-encryption.ts'
import { type KeyedValue, keyedColumns } from './encrypted-columns.ts'
import { type KeyManagement, onRecord, referenceOf } from './keys.ts'

/** Rows of a step: few enough that a crash repeats little and no statement is long. */
const stepSize = 100
/** Rows moved at once: the others of a process's connections are for those who wait for an answer. */
const movesAtOnce = 4

/**
 * Walks one step of a pass that this process holds. Rows are moved one by one, each only if it still
 * is what was read, so that nobody's change is ever overwritten and no card is held for longer than a
 * statement.
 * @returns the pass as it stands, or null where it ended, rests, or is another process's now.
 */
export async function walkPass(keys: KeyManagement, pass: KeyPassRow): Promise<KeyPassRow | null> {
  const columns: readonly KeyedColumn[] = isInstallationKey(pass.keyName)
    ? keyCatalogue[pass.keyName].columns
    : []
  const index = Math.max(
    0,
    columns.findIndex((column) => column === pass.holding),
  )
  const column = columns[index]
  if (!column) return endRound(keys, pass)
  const { isLast, position, ...found } = await moveSome(keys, pass, column)
  const next = isLast ? columns[index + 1] : column
  const stepped = await stepKeyPass(keys.database, pass, keys.processId, {
    holding: next ?? column,
    position: isLast ? '' : position,
    ...found,
  })
  if (!stepped) return null
  return next ? stepped : endRound(keys, stepped)
}

async function moveSome(keys: KeyManagement, pass: KeyPassRow, column: KeyedColumn) {
  const rows = await keyedColumns[column](keys, pass.position, stepSize)
  const older = rows.filter(({ keyVersion }) => (keyVersion ?? 0) < pass.keyVersion)
  const moved = await moveAll(older)
  // What does not say its version was left behind if it could be moved.
  const told = older.filter(({ keyVersion }) => keyVersion !== null).length
  return {
    isLast: rows.length < stepSize,
    position: rows.at(-1)?.position ?? '',
    walked: rows.length,
    moved,
    left: told > 0 ? told : moved,
  }
}

async function moveAll(rows: readonly KeyedValue[]): Promise<number> {
  const waiting = [...rows]
  let moved = 0
  const moveOnes = async () => {
    for (let row = waiting.pop(); row; row = waiting.pop()) if (await row.move()) moved += 1
  }
  await Promise.all(Array.from({ length: movesAtOnce }, moveOnes))
  return moved
}

/** A round that began late enough and found nothing is the last; before that there is another one. */
async function endRound(keys: KeyManagement, pass: KeyPassRow): Promise<null> {
  const { database, processId, timings } = keys
  const settleSeconds = timings.settleMs / 1_000
  const isFinished = await onRecord(keys, async (connection, record) => {
    if (!(await finishKeyPass(connection, pass, processId, settleSeconds))) return false
    for (const each of await retireOlderHsmKeys(connection, pass.keyName, pass.keyVersion)) {
      await record({ act: 'retired', key: referenceOf(each.keyName, each.keyVersion) })
    }
    return true
  })
  if (!isFinished) await beginKeyPassRound(database, pass, processId, settleSeconds)
  return null
}
