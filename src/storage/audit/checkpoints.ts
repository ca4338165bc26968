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
  `with looked_at as (
     select size, signed_at, lead(signed_at) over (order by size) as next_at from (
       select size, signed_at from audit_checkpoint
       where log = $1 and size >= $2::bigint order by size limit $3
     ) as next
   ), thinned as (
     delete from audit_checkpoint where log = $1 and size in (
       select size from looked_at
       where signed_at < now() - interval '1 day'
         and date_trunc('hour', next_at) = date_trunc('hour', signed_at)
     )
   )
   select max(size)::float8 as "size", count(*)::integer as "lookedAt" from looked_at
   where signed_at < now() - interval '1 day'`,
)

/**
 * Forgets checkpoints that are older than a day, but for the last of each hour, a step at a time.
 * @param from the size from which on they are looked at
 * @returns where the next step goes on, and whether there is one to be done now.
 */
export async function thinCheckpoints(
  connection: Connection,
  log: number,
  from: number,
  limit: number,
): Promise<{ readonly next: number; readonly isMore: boolean }> {
  const values = [log, from, limit]
  const found = firstRow(
    await connection.query<{ readonly size: number | null; readonly lookedAt: number }>(
      thinStatement,
      values,
    ),
  )
  return { next: found?.size ?? from, isMore: found?.lookedAt === limit }
}
