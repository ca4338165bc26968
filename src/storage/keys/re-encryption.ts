import { type Connection, firstRow } from '../engine/database.ts'
import { loadStatements } from '../engine/statements.ts'

/** The re-encryption of everything that is under older versions of a key. */
export interface ReEncryptionRow {
  readonly keyName: string
  /** The version that everything moves to. */
  readonly keyVersion: number
  readonly columnName: string
  /** After which row of the column to go on. */
  readonly position: string
  readonly round: number
  readonly roundStartedAt: Date
  readonly examined: number
  readonly reEncrypted: number
  /** Rows that this round found under an older version. */
  readonly leftInRound: number
  readonly startedAt: Date
  readonly finishedAt: Date | null
}

const declare = loadStatements(import.meta.url)

/** The version that a re-encryption moves everything to. */
type Target = Pick<ReEncryptionRow, 'keyName' | 'keyVersion'>

const selectReEncryptions = declare<Target & { limit: number }, ReEncryptionRow>(
  'list_re_encryptions',
)

/** Passes to versions after this one, by name and number. */
export const listReEncryptions = (
  connection: Connection,
  keyName: string,
  keyVersion: number,
  limit: number,
): Promise<ReEncryptionRow[]> => selectReEncryptions(connection, { keyName, keyVersion, limit })

const insertReEncryption = declare<Target>('start_re_encryption')

/** Begins a re-encryption, unless it was begun. */
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
 * @returns null when another process has claimed it.
 */
export const claimReEncryption = async (
  connection: Connection,
  keyName: string,
  keyVersion: number,
  holder: string,
): Promise<ReEncryptionRow | null> =>
  firstRow(await updateHolder(connection, { keyName, keyVersion, holder }))

/** Where a step of a re-encryption ended, and what it found. */
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

/** Puts a step on record. @returns null where the re-encryption has become another process's. */
export const recordReEncryptionStep = async (
  connection: Connection,
  { keyName, keyVersion }: ReEncryptionRow,
  holder: string,
  step: ReEncryptionStep,
): Promise<ReEncryptionRow | null> =>
  firstRow(await updatePosition(connection, { ...step, keyName, keyVersion, holder }))

/**
 * Whose re-encryption it is, and how many seconds after the version became active a round counts.
 */
type SettledTarget = Target & { readonly holder: string; readonly settleSeconds: number }

const updateRound = declare<SettledTarget>('begin_re_encryption_round')

/** Begins another round, at the earliest so many seconds after the version became active. */
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
 * Ends a re-encryption whose round began so many seconds after the version became active, and found
 * nothing left. @returns whether it did.
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
