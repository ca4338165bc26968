import { isInstallationKey, type KeyedColumn, keyCatalogue } from '../../hsm/contract/catalogue.ts'
import { retireOlderHsmKeys } from '../../storage/keys/hsm-keys.ts'
import {
  beginKeyPassRound,
  finishKeyPass,
  type KeyPassRow,
  stepKeyPass,
} from '../../storage/keys/re-encryption.ts'
import { keyedColumns } from './encrypted-columns.ts'
import { changeKeys, type KeyOperations, referenceOf } from './keys.ts'

/** Rows of a step: few enough that a crash repeats little and no statement is long. */
const stepSize = 100
/** Rows moved at once: the others of a process's connections are for those who wait for an answer. */
const movesAtOnce = 4

/**
 * Does one step of a re-encryption that is this process's. Rows are moved one by one, each only if it still
 * is what was read, so that nobody's change is ever overwritten and no card is locked for longer than a
 * statement.
 * @returns the re-encryption as it stands, or null where it ended, rests, or is another process's now.
 */
export async function reEncryptStep(
  keys: KeyOperations,
  pass: KeyPassRow,
): Promise<KeyPassRow | null> {
  const columns: readonly KeyedColumn[] = isInstallationKey(pass.keyName)
    ? keyCatalogue[pass.keyName].columns
    : []
  const started = columns.findIndex((each) => each === pass.holding)
  const index = Math.max(0, started)
  const column = columns[index]
  if (!column) return endRound(keys, pass)
  const rows = await keyedColumns[column](keys, pass.position, stepSize)
  const older = rows.filter(({ keyVersion }) => (keyVersion ?? 0) < pass.keyVersion)
  const waiting = [...older]
  let moved = 0
  const moveOneByOne = async () => {
    for (let row = waiting.pop(); row; row = waiting.pop()) if (await row.move()) moved += 1
  }
  await Promise.all(Array.from({ length: movesAtOnce }, moveOneByOne))
  // What does not say its version was left behind if it could be moved.
  const knownOlder = older.filter(({ keyVersion }) => keyVersion !== null).length
  const isLast = rows.length < stepSize
  const next = isLast ? columns[index + 1] : column
  const stepped = await stepKeyPass(keys.database, pass, keys.processId, {
    holding: next ?? column,
    position: isLast ? '' : (rows.at(-1)?.position ?? ''),
    walked: rows.length,
    moved,
    left: knownOlder > 0 ? knownOlder : moved,
  })
  if (!stepped) return null
  return next ? stepped : endRound(keys, stepped)
}

/** A round that began late enough and found nothing is the last; before that there is another one. */
async function endRound(keys: KeyOperations, pass: KeyPassRow): Promise<null> {
  const { database, processId, timings } = keys
  const settleSeconds = timings.settleMs / 1_000
  const isFinished = await changeKeys(keys, async ({ connection, record }) => {
    if (!(await finishKeyPass(connection, pass, processId, settleSeconds))) return false
    for (const each of await retireOlderHsmKeys(connection, pass.keyName, pass.keyVersion)) {
      await record({ act: 'retired', key: referenceOf(each.keyName, each.keyVersion) })
    }
    return true
  })
  if (!isFinished) await beginKeyPassRound(database, pass, processId, settleSeconds)
  return null
}
