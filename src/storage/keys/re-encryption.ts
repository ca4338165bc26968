import { type Connection, firstRow, statement } from '../engine/database.ts'

/** A walk through everything that is under older versions of a key. */
export interface KeyPassRow {
  readonly keyName: string
  /** The version that everything moves to. */
  readonly keyVersion: number
  readonly holding: string
  /** After which row of the holding to go on. */
  readonly position: string
  readonly round: number
  readonly roundStartedAt: Date
  readonly walked: number
  readonly moved: number
  /** Rows that this round found under an older version. */
  readonly leftInRound: number
  readonly startedAt: Date
  readonly finishedAt: Date | null
}

const columns = `key_name as "keyName", key_version as "keyVersion", column_name as "holding", position, round,
  round_started_at as "roundStartedAt", examined::float8 as "walked", re_encrypted::float8 as "moved",
  remaining_in_round::float8 as "leftInRound", started_at as "startedAt", finished_at as "finishedAt"`

const listStatement = statement(
  'list_key_passes',
  `select ${columns} from re_encryption where (key_name, key_version) > ($1, $2)
   order by key_name, key_version limit $3`,
)

/** Passes to versions after this one, by name and number. */
export const listKeyPasses = (
  connection: Connection,
  keyName: string,
  keyVersion: number,
  limit: number,
): Promise<KeyPassRow[]> => connection.query(listStatement, [keyName, keyVersion, limit])

const startStatement = statement(
  'start_key_pass',
  `insert into re_encryption (key_name, key_version) values ($1, $2)
   on conflict (key_name, key_version) do nothing`,
)

/** Begins a pass, unless it was begun. */
export const startKeyPass = async (
  connection: Connection,
  keyName: string,
  keyVersion: number,
): Promise<void> => {
  await connection.query(startStatement, [keyName, keyVersion])
}

/** A pass is one process's for so long after its last step. */
const leaseSeconds = 15

const claimStatement = statement(
  'claim_key_pass',
  `update re_encryption set holder = $3, leased_until = now() + make_interval(secs => ${leaseSeconds})
   where key_name = $1 and key_version = $2 and finished_at is null and round_started_at <= now()
     and (holder = $3 or leased_until < now())
   returning ${columns}`,
)

/** Takes a pass that nobody walks, or keeps one's own. @returns null where another process has it. */
export const claimKeyPass = async (
  connection: Connection,
  keyName: string,
  keyVersion: number,
  holder: string,
): Promise<KeyPassRow | null> =>
  firstRow(await connection.query(claimStatement, [keyName, keyVersion, holder]))

/** Where a step of a pass ended, and what it found. */
interface KeyPassStep {
  readonly holding: string
  readonly position: string
  readonly walked: number
  readonly moved: number
  readonly left: number
}

const stepStatement = statement(
  'step_key_pass',
  `update re_encryption set column_name = $4, position = $5, examined = examined + $6, re_encrypted = re_encrypted + $7,
     remaining_in_round = remaining_in_round + $8,
     leased_until = now() + make_interval(secs => ${leaseSeconds})
   where key_name = $1 and key_version = $2 and holder = $3 and finished_at is null
   returning ${columns}`,
)

/** Puts a step on record. @returns null where the pass has become another process's. */
export const stepKeyPass = async (
  connection: Connection,
  { keyName, keyVersion }: KeyPassRow,
  holder: string,
  { holding, left, moved, position, walked }: KeyPassStep,
): Promise<KeyPassRow | null> => {
  const values = [keyName, keyVersion, holder, holding, position, walked, moved, left]
  return firstRow(await connection.query(stepStatement, values))
}

const nextRoundStatement = statement(
  'begin_key_pass_round',
  `update re_encryption set column_name = '', position = '', round = round + 1, remaining_in_round = 0,
     holder = null, leased_until = '-infinity',
     round_started_at = greatest(now(), (
       select activated_at from hsm_key where key_name = $1 and key_version = $2
     ) + make_interval(secs => $4))
   where key_name = $1 and key_version = $2 and holder = $3 and finished_at is null`,
)

/** Begins another round, at the earliest so many seconds after the version became active. */
export const beginKeyPassRound = async (
  connection: Connection,
  { keyName, keyVersion }: KeyPassRow,
  holder: string,
  settleSeconds: number,
): Promise<void> => {
  await connection.query(nextRoundStatement, [keyName, keyVersion, holder, settleSeconds])
}

const finishStatement = statement(
  'finish_key_pass',
  `update re_encryption set finished_at = now(), holder = null
   where key_name = $1 and key_version = $2 and holder = $3 and finished_at is null
     and remaining_in_round = 0 and round_started_at >= (
       select activated_at from hsm_key where key_name = $1 and key_version = $2
     ) + make_interval(secs => $4)
   returning key_name as "keyName"`,
)

/**
 * Ends a pass whose round began so many seconds after the version became active, and found nothing
 * left. @returns whether it did.
 */
export const finishKeyPass = async (
  connection: Connection,
  { keyName, keyVersion }: KeyPassRow,
  holder: string,
  settleSeconds: number,
): Promise<boolean> =>
  (await connection.query(finishStatement, [keyName, keyVersion, holder, settleSeconds])).length ===
  1
