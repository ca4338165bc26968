import { type Connection, firstRow, statement } from '../engine/database.ts'

/** A checkpoint that was signed. */
export interface CheckpointRow {
  readonly size: number
  readonly root: Uint8Array
  /** The signed note with its cosignatures. */
  readonly note: string
  readonly signedAt: Date
  /** By the database's clock. */
  readonly ageMs: number
}

const newestStatement = statement(
  'find_newest_audit_checkpoint',
  `select size::float8 as "size", root, note, signed_at as "signedAt",
     (extract(epoch from clock_timestamp() - signed_at) * 1000)::float8 as "ageMs"
   from audit_checkpoint
   where log = $1 order by size desc limit 1`,
)

/** The newest of a log; null before its first. */
export const findNewestCheckpoint = async (
  connection: Connection,
  log: number,
): Promise<CheckpointRow | null> =>
  firstRow(await connection.query<CheckpointRow>(newestStatement, [log]))

// Signed again where its first note was lost on its way here, or a key has changed: of one size there is one root.
const insertStatement = statement(
  'insert_audit_checkpoint',
  `insert into audit_checkpoint (log, size, root, note) values ($1, $2, $3, $4)
   on conflict (log, size) do update set note = excluded.note, signed_at = excluded.signed_at
     where audit_checkpoint.root = excluded.root`,
)

export const insertCheckpoint = async (
  connection: Connection,
  log: number,
  { note, root, size }: Pick<CheckpointRow, 'note' | 'root' | 'size'>,
): Promise<void> => {
  await connection.query(insertStatement, [log, size, root, note])
}

// Of each hour the last is kept, and with it the last of all.
const thinStatement = statement(
  'thin_audit_checkpoints',
  `delete from audit_checkpoint
   where signed_at < now() - interval '1 day' and (log, size) not in (
     select log, max(size) from audit_checkpoint group by log, date_trunc('hour', signed_at, 'UTC')
   )`,
)

/** Forgets checkpoints that are older than a day, but for the last of each hour. */
export const thinCheckpoints = async (connection: Connection): Promise<void> => {
  await connection.query(thinStatement)
}
