import { type Connection, firstRow, statement } from '../engine/database.ts'

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

const columns = `key_name as "keyName", key_version as "keyVersion", column_name as "columnName", position, round,
  round_started_at as "roundStartedAt", examined::float8 as "examined", re_encrypted::float8 as "reEncrypted",
  remaining_in_round::float8 as "leftInRound", started_at as "startedAt", finished_at as "finishedAt"`

const listStatement = statement(
  'list_re_encryptions',
  `select ${columns} from re_encryption where (key_name, key_version) > ($1, $2)
   order by key_name, key_version limit $3`,
)

/** Passes to versions after this one, by name and number. */
export const listReEncryptions = (
  connection: Connection,
  keyName: string,
  keyVersion: number,
  limit: number,
): Promise<ReEncryptionRow[]> => connection.query(listStatement, [keyName, keyVersion, limit])

const startStatement = statement(
  'start_re_encryption',
  `insert into re_encryption (key_name, key_version) values ($1, $2)
   on conflict (key_name, key_version) do nothing`,
)

/** Begins a re-encryption, unless it was begun. */
export const startReEncryption = async (
  connection: Connection,
  keyName: string,
  keyVersion: number,
): Promise<void> => {
  await connection.query(startStatement, [keyName, keyVersion])
}

/** A re-encryption is one process's for so long after its last step. */
const leaseSeconds = 15

const claimStatement = statement(
  'claim_re_encryption',
  `update re_encryption set holder = $3, leased_until = now() + make_interval(secs => ${leaseSeconds})
   where key_name = $1 and key_version = $2 and finished_at is null and round_started_at <= now()
     and (holder = $3 or leased_until < now())
   returning ${columns}`,
)

/** Takes a re-encryption that is nobody’s, or keeps one's own. @returns null where another process has it. */
export const claimReEncryption = async (
  connection: Connection,
  keyName: string,
  keyVersion: number,
  holder: string,
): Promise<ReEncryptionRow | null> =>
  firstRow(await connection.query(claimStatement, [keyName, keyVersion, holder]))

/** Where a step of a re-encryption ended, and what it found. */
interface ReEncryptionStep {
  readonly columnName: string
  readonly position: string
  readonly examined: number
  readonly reEncrypted: number
  readonly left: number
}

const stepStatement = statement(
  'record_re_encryption_step',
  `update re_encryption set column_name = $4, position = $5, examined = examined + $6, re_encrypted = re_encrypted + $7,
     remaining_in_round = remaining_in_round + $8,
     leased_until = now() + make_interval(secs => ${leaseSeconds})
   where key_name = $1 and key_version = $2 and holder = $3 and finished_at is null
   returning ${columns}`,
)

/** Puts a step on record. @returns null where the re-encryption has become another process's. */
export const recordReEncryptionStep = async (
  connection: Connection,
  { keyName, keyVersion }: ReEncryptionRow,
  holder: string,
  { columnName, examined, left, position, reEncrypted }: ReEncryptionStep,
): Promise<ReEncryptionRow | null> => {
  const values = [keyName, keyVersion, holder, columnName, position, examined, reEncrypted, left]
  return firstRow(await connection.query(stepStatement, values))
}

const nextRoundStatement = statement(
  'begin_re_encryption_round',
  `update re_encryption set column_name = '', position = '', round = round + 1, remaining_in_round = 0,
     holder = null, leased_until = '-infinity',
     round_started_at = greatest(now(), (
       select activated_at from hsm_key where key_name = $1 and key_version = $2
     ) + make_interval(secs => $4))
   where key_name = $1 and key_version = $2 and holder = $3 and finished_at is null`,
)

/** Begins another round, at the earliest so many seconds after the version became active. */
export const beginReEncryptionRound = async (
  connection: Connection,
  { keyName, keyVersion }: ReEncryptionRow,
  holder: string,
  settleSeconds: number,
): Promise<void> => {
  await connection.query(nextRoundStatement, [keyName, keyVersion, holder, settleSeconds])
}

const finishStatement = statement(
  'finish_re_encryption',
  `update re_encryption set finished_at = now(), holder = null
   where key_name = $1 and key_version = $2 and holder = $3 and finished_at is null
     and remaining_in_round = 0 and round_started_at >= (
       select activated_at from hsm_key where key_name = $1 and key_version = $2
     ) + make_interval(secs => $4)
   returning key_name as "keyName"`,
)

/**
 * Ends a re-encryption whose round began so many seconds after the version became active, and found nothing
 * left. @returns whether it did.
 */
export const finishReEncryption = async (
  connection: Connection,
  { keyName, keyVersion }: ReEncryptionRow,
  holder: string,
  settleSeconds: number,
): Promise<boolean> =>
  (await connection.query(finishStatement, [keyName, keyVersion, holder, settleSeconds])).length ===
  1
