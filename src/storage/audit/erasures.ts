import { type Connection, firstRow, statement } from '../engine/database.ts'

/** Whose entries are erased: those of a card, of what a client did, or those that are old. */
type ErasureKind = 'card' | 'client' | 'age'

/** An erasure, and how far it is. */
export interface ErasureRow {
  readonly erasureId: string
  readonly kind: ErasureKind
  /** The card's token or the client; null of what is old, and once it is finished. */
  readonly subject: string | null
  readonly reason: string
  readonly requestedAt: Date
  /** Null where nobody asked: it is of what is old. */
  readonly requestedBy: string | null
  /** The act that says that it was asked for; null before that is on record. */
  readonly requestAct: string | null
  /** The entry from which on it is still to be looked. */
  readonly log: number
  readonly nextIndex: number
  /** Entries that an act names, and which are erased once that is under a checkpoint; else null. */
  readonly pendingAct: string | null
  readonly pendingLog: number | null
  readonly pendingFrom: readonly number[]
  readonly pendingTo: readonly number[]
  /** Entries that are erased by now. */
  readonly erased: number
  readonly finishedAt: Date | null
}

/** Entries from one to another, both among them. */
interface EntryRange {
  readonly from: number
  readonly to: number
}

const columns = `erasure_id as "erasureId", kind, subject, reason, requested_at as "requestedAt",
  requested_by as "requestedBy", request_act as "requestAct", log,
  next_index::float8 as "nextIndex", pending_act as "pendingAct", pending_log as "pendingLog",
  pending_from::float8[] as "pendingFrom", pending_to::float8[] as "pendingTo", erased::float8 as "erased",
  finished_at as "finishedAt"`

const insertStatement = statement(
  'insert_audit_erasure',
  `insert into audit_erasure (kind, subject, reason, requested_by) values ($1, $2, $3, $4)
   on conflict do nothing returning ${columns}`,
)

/** Asks for an erasure. @returns it; null where what is old is looked for already. */
export const insertErasure = async (
  connection: Connection,
  {
    kind,
    reason,
    requestedBy,
    subject,
  }: Pick<ErasureRow, 'kind' | 'subject' | 'reason' | 'requestedBy'>,
): Promise<ErasureRow | null> => {
  const values = [kind, subject, reason, requestedBy]
  return firstRow(await connection.query<ErasureRow>(insertStatement, values))
}

const requestActStatement = statement(
  'set_audit_erasure_request',
  'update audit_erasure set request_act = $2::uuid where erasure_id = $1::uuid',
)

/** Says which act tells that an erasure was asked for. */
export const setRequestAct = async (
  connection: Connection,
  erasureId: string,
  actId: string,
): Promise<void> => {
  await connection.query(requestActStatement, [erasureId, actId])
}

const findStatement = statement(
  'find_audit_erasure',
  `select ${columns} from audit_erasure where erasure_id = $1::uuid`,
)

export const findErasure = async (
  connection: Connection,
  erasureId: string,
): Promise<ErasureRow | null> =>
  firstRow(await connection.query<ErasureRow>(findStatement, [erasureId]))

const knownStatement = statement(
  'list_audit_erasures',
  `select ${columns} from audit_erasure where erasure_id = any($1::uuid[])`,
)

/** Those of these ids that there are. */
export const listErasures = (
  connection: Connection,
  erasureIds: readonly string[],
): Promise<ErasureRow[]> => connection.query(knownStatement, [erasureIds])

const listStatement = statement(
  'list_unfinished_audit_erasures',
  `select ${columns} from audit_erasure where finished_at is null order by requested_at limit $1`,
)

/** Those that are not finished, the oldest first. */
export const listUnfinishedErasures = (
  connection: Connection,
  limit: number,
): Promise<ErasureRow[]> => connection.query(listStatement, [limit])

const lockStatement = statement(
  'lock_audit_erasure',
  `select ${columns} from audit_erasure where erasure_id = $1::uuid and finished_at is null
   for update skip locked`,
)

/** An erasure, locked to the end of the transaction; null where another process is at it, or it is finished. */
export const lockErasure = async (
  connection: Connection,
  erasureId: string,
): Promise<ErasureRow | null> =>
  firstRow(await connection.query<ErasureRow>(lockStatement, [erasureId]))

const oldStatement = statement(
  'find_first_young_audit_entry',
  `select entry_index::float8 as "index" from audit_entry
   where log = $1 and entry_index >= $2::bigint and entry_index < $3::bigint
     and entered_at >= now() - make_interval(days => $4)
   order by entry_index limit 1`,
)

/** Of entries from one index to before another the first that is not so many days old; null where all are. */
export const findFirstYoung = async (
  connection: Connection,
  log: number,
  [from, end]: readonly [number, number],
  days: number,
): Promise<number | null> =>
  firstRow(await connection.query<{ index: number }>(oldStatement, [log, from, end, days]))
    ?.index ?? null

const rangesStatement = statement(
  'find_audit_entries_to_erase',
  `select min(entry_index)::float8 as "from", max(entry_index)::float8 as "to"
   from (
     select entry_index, entry_index - row_number() over (order by entry_index) as island
     from audit_entry
     where log = $1 and entry_index >= $2::bigint and entry_index < $3::bigint and text is not null
       and split_part(act, '.', 1) <> all($4::text[])
       and case $5 when 'card' then public_token = $6 when 'client' then client_id = $6 else true end
       and (client_id is null or $8::text is null or client_id <> $8)
   ) as due
   group by island order by 1 limit $7`,
)

/**
 * Of entries from one index to before another those to be erased, in their order: but for acts of some groups, and for what
 * the one who asked did.
 */
export const findRangesToErase = (
  connection: Connection,
  { kind, log, requestedBy, subject }: Pick<ErasureRow, 'kind' | 'subject' | 'log' | 'requestedBy'>,
  [from, end]: readonly [number, number],
  { keptGroups, limit }: { readonly keptGroups: readonly string[]; readonly limit: number },
): Promise<EntryRange[]> =>
  connection.query(rangesStatement, [log, from, end, keptGroups, kind, subject, limit, requestedBy])

const advanceStatement = statement(
  'advance_audit_erasure',
  `update audit_erasure set log = $2, next_index = $3::bigint, pending_act = $4::uuid,
     pending_log = case when $4::uuid is not null then $5::integer end,
     pending_from = $6::bigint[], pending_to = $7::bigint[]
   where erasure_id = $1::uuid`,
)

/** Puts an erasure before an entry; with the act that names those on the way that are to be erased, if there are any. */
export const advanceErasure = async (
  connection: Connection,
  { erasureId, log: pendingLog }: Pick<ErasureRow, 'erasureId' | 'log'>,
  next: Pick<ErasureRow, 'log' | 'nextIndex' | 'pendingAct'>,
  ranges: readonly EntryRange[],
): Promise<void> => {
  const [from, to] = [ranges.map((range) => range.from), ranges.map((range) => range.to)]
  const values = [erasureId, next.log, next.nextIndex, next.pendingAct, pendingLog, from, to]
  await connection.query(advanceStatement, values)
}

const eraseStatement = statement(
  'erase_audit_entries',
  `update audit_entry set salt = null, text = null, public_token = null
   where log = $1 and entry_index between $2::bigint and $3::bigint and text is not null
   returning 1 as "one"`,
)

/** Erases what entries say, and whose card they are about; what commits to it stays. @returns how many. */
export const eraseEntries = async (
  connection: Connection,
  log: number,
  { from, to }: EntryRange,
): Promise<number> => (await connection.query(eraseStatement, [log, from, to])).length

const settleStatement = statement(
  'settle_audit_erasure',
  `update audit_erasure
   set erased = erased + $3::bigint, pending_act = null, pending_log = null, pending_from = '{}', pending_to = '{}'
   where erasure_id = $1::uuid and pending_act = $2::uuid`,
)

/** Says that what an act named is erased. */
export const settleErasure = async (
  connection: Connection,
  { erasureId, pendingAct }: Pick<ErasureRow, 'erasureId' | 'pendingAct'>,
  erased: number,
): Promise<void> => {
  await connection.query(settleStatement, [erasureId, pendingAct, erased])
}

const finishStatement = statement(
  'finish_audit_erasure',
  `update audit_erasure set finished_at = clock_timestamp(), subject = null
   where erasure_id = $1::uuid and clock_timestamp() - requested_at > make_interval(secs => $2)
   returning 1 as "one"`,
)

/** Finishes an erasure that was asked for so many seconds ago. @returns whether it was. */
export const finishErasure = async (
  connection: Connection,
  erasureId: string,
  afterSeconds: number,
): Promise<boolean> =>
  (await connection.query(finishStatement, [erasureId, afterSeconds])).length > 0
