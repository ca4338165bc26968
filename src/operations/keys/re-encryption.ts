import { setTimeout as wait } from 'node:timers/promises'
import { isInstallationKey, type KeyedColumn, keyCatalogue } from '../../hsm/contract/catalogue.ts'
import { retireOlderHsmKeys } from '../../storage/keys/hsm-keys.ts'
import * as storedReEncryptions from '../../storage/keys/re-encryption.ts'
import { keyedColumns } from './encrypted-columns.ts'
import { changeKeys, composeReference, type KeyContext } from './keys.ts'

/**
 * The number of rows in a step: few enough that a crash repeats little and no statement is long.
 */
const stepRowsMost = 100
/**
 * The number of rows re-encrypted concurrently. The other connections of a process are for
 * requests.
 */
const movesAtOnce = 4

/**
 * Runs one step of this process's re-encryption. Each row is re-encrypted separately, and only if
 * it is unchanged since it was read: no change is overwritten, and no card is locked for longer
 * than a statement.
 * @returns the re-encryption, or null if it ended, pauses, or belongs to another process.
 */
export async function reEncryptStep(
  keys: KeyContext,
  reEncryption: storedReEncryptions.ReEncryptionRow,
): Promise<storedReEncryptions.ReEncryptionRow | null> {
  const columns: readonly KeyedColumn[] = isInstallationKey(reEncryption.keyName)
    ? keyCatalogue[reEncryption.keyName].columns
    : []
  const fromMs = performance.now()
  // No step pauses for more than a second, so that its lease lasts and a stop is quick.
  const stepSize = Math.min(stepRowsMost, keys.rowsPerSecond)
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
  // Values without a version were skipped if they cannot be re-encrypted.
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
  await wait(Math.max(0, fromMs + (reEncrypted * 1_000) / keys.rowsPerSecond - performance.now()))
  return next ? stepped : endRound(keys, stepped)
}

/** The progress of a round. */
export interface RoundProgress {
  /**
   * The share of the cards, from 0 to 1, estimated from the tokens, which are evenly distributed.
   */
  readonly shareOfCards: number
  /** The remaining seconds at the present rate; null before the rate is known. */
  readonly secondsLeft: number | null
}

const firstToken = 1_000_000_000
const lastToken = 9_999_999_999

/** Computes the progress of a round of re-encryption. Few rows follow the cards. */
export function computeRoundProgress(
  reEncryption: storedReEncryptions.ReEncryptionRow,
  now: Date,
): RoundProgress {
  const { columnName, finishedAt, position, roundStartedAt } = reEncryption
  if (finishedAt) return { shareOfCards: 1, secondsLeft: 0 }
  const isAtCards = columnName === 'pan_fingerprint' || /^(card\.|$)/.test(columnName)
  const token = position === '' ? firstToken : Number(position)
  const shareOfCards = isAtCards ? (token - firstToken) / (lastToken - firstToken) : 1
  const passedMs = now.getTime() - roundStartedAt.getTime()
  const isKnown = shareOfCards > 0 && passedMs > 0
  const secondsLeft = isKnown ? (passedMs / 1_000) * (1 / shareOfCards - 1) : null
  return { shareOfCards, secondsLeft: secondsLeft === null ? null : Math.round(secondsLeft) }
}

/** A round that began late enough and found nothing is the last; otherwise another one follows. */
async function endRound(
  keys: KeyContext,
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
      await record({ act: 'retired', key: composeReference(each.keyName, each.keyVersion) })
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
