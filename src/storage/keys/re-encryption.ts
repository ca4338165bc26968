import { type Connection, firstRow } from '../engine/database.ts'
import { loadStatements } from '../engine/statements.ts'

/** The re-encryption of all data under older versions of a key. */
export interface ReEncryptionRow {
  readonly keyName: string
  /** The version for all data. */
  readonly keyVersion: number
  readonly columnName: string
  /** The row of the column after which it continues. */
  readonly position: string
  readonly round: number
  readonly roundStartedAt: Date
  readonly examined: number
  readonly reEncrypted: number
  /** The rows that this round found under an older version. */
  readonly leftInRound: number
  readonly startedAt: Date
  readonly finishedAt: Date | null
}

const declare = loadStatements(import.meta.url)

/** The target version of a re-encryption. */
type Target = Pick<ReEncryptionRow, 'keyName' | 'keyVersion'>

const selectReEncryptions = declare<Target & { limit: number }, ReEncryptionRow>(
  'list_re_encryptions',
)

/** Lists re-encryptions to versions after this one, by name and number. */
export const listReEncryptions = (
  connection: Connection,
  keyName: string,
  keyVersion: number,
  limit: number,
): Promise<ReEncryptionRow[]> => selectReEncryptions(connection, { keyName, keyVersion, limit })

const insertReEncryption = declare<Target>('start_re_encryption')

/** Begins a re-encryption, unless it has begun. */
export const startReEncryption = async (
  connection: Connection,
  keyName: string,
  keyVersion: number,
): Promise<void> => {
  await insertReEncryption(connection, { keyName, keyVersion })
}

const updateHolder = declare<Target & { holder: string }, ReEncryptionRow>('claim_re_encryption')

/**
 * Claims an unclaimed re-encryption, or renews this process's own claim.
 * @returns null if another process has claimed it.
 */
export const claimReEncryption = async (
  connection: Connection,
  keyName: string,
  keyVersion: number,
  holder: string,
): Promise<ReEncryptionRow | null> =>
  firstRow(await updateHolder(connection, { keyName, keyVersion, holder }))

/** The end of a step of a re-encryption, and its findings. */
interface ReEncryptionStep {
  readonly columnName: string
  readonly position: string
  readonly examined: number
  readonly reEncrypted: number
  readonly left: number
}

const updatePosition = declare<Target & { holder: string } & ReEncryptionStep, ReEncryptionRow>(
  'record_re_encryption_step',
)

/**
 * Records a step.
 * @returns null if another process has claimed the re-encryption.
 */
export const recordReEncryptionStep = async (
  connection: Connection,
  { keyName, keyVersion }: ReEncryptionRow,
  holder: string,
  step: ReEncryptionStep,
): Promise<ReEncryptionRow | null> =>
  firstRow(await updatePosition(connection, { ...step, keyName, keyVersion, holder }))

/**
 * The holder of a re-encryption, and the seconds after the activation from which a round counts.
 */
type SettledTarget = Target & { readonly holder: string; readonly settleSeconds: number }

const updateRound = declare<SettledTarget>('begin_re_encryption_round')

/**
 * Begins another round, not earlier than a number of seconds after the activation of the version.
 */
export const beginReEncryptionRound = async (
  connection: Connection,
  { keyName, keyVersion }: ReEncryptionRow,
  holder: string,
  settleSeconds: number,
): Promise<void> => {
  await updateRound(connection, { keyName, keyVersion, holder, settleSeconds })
}

const updateFinished = declare<SettledTarget>('finish_re_encryption')

/**
 * Ends a re-encryption whose round began a number of seconds after the activation of the version,
 * and found nothing left.
 * @returns whether it ended.
 */
export const finishReEncryption = async (
  connection: Connection,
  { keyName, keyVersion }: ReEncryptionRow,
  holder: string,
  settleSeconds: number,
): Promise<boolean> => {
  const target = { keyName, keyVersion, holder, settleSeconds }
  return (await updateFinished(connection, target)).length === 1
}
