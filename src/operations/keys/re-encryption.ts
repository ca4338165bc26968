import { isInstallationKey, type KeyedColumn, keyCatalogue } from '../../hsm/contract/catalogue.ts'
import { retireOlderHsmKeys } from '../../storage/keys/hsm-keys.ts'
import * as storedReEncryptions from '../../storage/keys/re-encryption.ts'
import { keyedColumns } from './encrypted-columns.ts'
import { changeKeys, type KeyOperations, referenceOf } from './keys.ts'

/** Rows of a step: few enough that a crash repeats little and no statement is long. */
const stepSize = 100
/** Rows re-encrypted at once: the others of a process's connections are for those who wait for an answer. */
const movesAtOnce = 4

/**
 * Does one step of a re-encryption that is this process's. Rows are re-encrypted one by one, each only if it still
 * is what was read, so that nobody's change is ever overwritten and no card is locked for longer than a
 * statement.
 * @returns the re-encryption as it stands, or null where it ended, rests, or is another process's now.
 */
export async function reEncryptStep(
  keys: KeyOperations,
  reEncryption: storedReEncryptions.ReEncryptionRow,
): Promise<storedReEncryptions.ReEncryptionRow | null> {
  const columns: readonly KeyedColumn[] = isInstallationKey(reEncryption.keyName)
    ? keyCatalogue[reEncryption.keyName].columns
    : []
  const started = columns.findIndex((each) => each === reEncryption.columnName)
  const index = Math.max(0, started)
  const column = columns[index]
  if (!column) return endRound(keys, reEncryption)
  const rows = await keyedColumns[column](keys, reEncryption.position, stepSize)
  const older = rows.filter(({ keyVersion }) => (keyVersion ?? 0) < reEncryption.keyVersion)
  const waiting = [...older]
  let reEncrypted = 0
  const moveOneByOne = async () => {
    for (let row = waiting.pop(); row; row = waiting.pop()) if (await row.move()) reEncrypted += 1
  }
  await Promise.all(Array.from({ length: movesAtOnce }, moveOneByOne))
  // What does not say its version was left behind if it could be re-encrypted.
  const knownOlder = older.filter(({ keyVersion }) => keyVersion !== null).length
  const isLast = rows.length < stepSize
  const next = isLast ? columns[index + 1] : column
  const stepped = await storedReEncryptions.recordReEncryptionStep(
    keys.database,
    reEncryption,
    keys.processId,
    {
      columnName: next ?? column,
      position: isLast ? '' : (rows.at(-1)?.position ?? ''),
      examined: rows.length,
      reEncrypted,
      left: knownOlder > 0 ? knownOlder : reEncrypted,
    },
  )
  if (!stepped) return null
  return next ? stepped : endRound(keys, stepped)
}

/** A round that began late enough and found nothing is the last; before that there is another one. */
async function endRound(
  keys: KeyOperations,
  reEncryption: storedReEncryptions.ReEncryptionRow,
): Promise<null> {
  const { database, processId, timings } = keys
  const settleSeconds = timings.settleMs / 1_000
  const isFinished = await changeKeys(keys, async ({ connection, record }) => {
    if (
      !(await storedReEncryptions.finishReEncryption(
        connection,
        reEncryption,
        processId,
        settleSeconds,
      ))
    )
      return false
    for (const each of await retireOlderHsmKeys(
      connection,
      reEncryption.keyName,
      reEncryption.keyVersion,
    )) {
      await record({ act: 'retired', key: referenceOf(each.keyName, each.keyVersion) })
    }
    return true
  })
  if (!isFinished)
    await storedReEncryptions.beginReEncryptionRound(
      database,
      reEncryption,
      processId,
      settleSeconds,
    )
  return null
}
