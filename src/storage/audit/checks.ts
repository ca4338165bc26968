import { type Connection, firstRow, statement } from '../engine/database.ts'
import { digestedRowColumns, digestOf } from './digested-columns.ts'

/** How far entries are followed, and how far the check that runs has come, or the last one. */
export interface CheckRow {
  readonly followedLog: number
  readonly followedIndex: number
  readonly hasBaseline: boolean
  readonly startedAt: Date | null
  readonly finishedAt: Date | null
  readonly afterToken: string
  readonly cards: number
  readonly findings: number
  readonly keptFold: Uint8Array
  readonly newFold: Uint8Array
  readonly digestedAct: string | null
  readonly digestedFold: Uint8Array
  readonly actsNumber: number
  readonly rowsFold: Uint8Array
  /** Of all of it; null before the first. */
  readonly signature: Uint8Array | null
}

const columns = `followed_log as "followedLog", followed_index::float8 as "followedIndex",
  has_baseline as "hasBaseline", started_at as "startedAt", finished_at as "finishedAt", after_token as "afterToken",
  cards::float8 as "cards", findings::float8 as "findings", kept_fold as "keptFold", new_fold as "newFold",
  digested_act as "digestedAct", digested_fold as "digestedFold", acts_number::float8 as "actsNumber",
  rows_fold as "rowsFold", state_signature as "signature"`

const findStatement = statement('find_audit_check', `select ${columns} from audit_check`)
const lockStatement = statement(
  'lock_audit_check',
  `select ${columns}, clock_timestamp() as "now" from audit_check for update skip locked`,
)

export const findCheck = async (connection: Connection): Promise<CheckRow | null> =>
  firstRow(await connection.query<CheckRow>(findStatement))

/** The same, locked to the end of the transaction; null where another process is at it. */
export const lockCheck = async (connection: Connection): Promise<LockedCheck | null> =>
  firstRow(await connection.query<LockedCheck>(lockStatement))

/** With the time of the database. */
export interface LockedCheck extends CheckRow {
  readonly now: Date
}

const writeStatement = statement(
  'write_audit_check',
  `update audit_check set followed_log = $1, followed_index = $2::bigint, has_baseline = $3,
     started_at = $4, finished_at = $5, after_token = $6, cards = $7::bigint,
     findings = $8::bigint, kept_fold = $9, new_fold = $10, digested_act = $11::uuid,
     digested_fold = $12, acts_number = $13::bigint, rows_fold = $14, state_signature = $15`,
)

/** Writes the row, whole. */
export const writeCheck = async (connection: Connection, row: CheckRow): Promise<void> => {
  await connection.query(writeStatement, [
    row.followedLog,
    row.followedIndex,
    row.hasBaseline,
    row.startedAt,
    row.finishedAt,
    row.afterToken,
    row.cards,
    row.findings,
    row.keptFold,
    row.newFold,
    row.digestedAct,
    row.digestedFold,
    row.actsNumber,
    row.rowsFold,
    row.signature,
  ])
}

/** What the newest check said of its end. */
export interface CheckResult {
  readonly actId: string
  readonly number: number
  /** As JSON. */
  readonly details: string
  readonly at: Date
  /** Whether any result was made by a version that signs the state of the check. */
  readonly isStateSigned: boolean
}

const resultStatement = statement(
  'find_newest_check_result',
  `select act_id as "actId", number::float8 as "number", details, acted_at as "at", exists (
     select 1 from audit_act where act = 'check.digested' and details like '%"rowsDigest"%'
   ) as "isStateSigned"
   from audit_act where act = 'check.digested' order by number desc limit 1`,
)

/** The newest act that says what came of a check; null before the first. */
export const findNewestResult = async (connection: Connection): Promise<CheckResult | null> =>
  firstRow(await connection.query<CheckResult>(resultStatement))

/** A row of a table, by its digest. */
export interface DigestedRow {
  readonly rowKey: string
  /** What an act on it names; null where the row is kept from before and is not there any more. */
  readonly subject: string | null
  /** As it is, and as it was kept; null where it is not. */
  readonly digest: Uint8Array | null
  readonly kept: Uint8Array | null
}

const rowStatements = digestedRowColumns.map(({ columns, key, subject, table }) => ({
  table,
  list: statement(
    `list_digested_rows_of_${table}`,
    `select ${key} as "rowKey", ${subject} as "subject", ${digestOf(columns)} as "digest"
     from ${table} where ${key} > $1 order by 1 limit $2`,
  ),
}))
const keptStatement = statement(
  'list_row_digests',
  `select row_key as "rowKey", digest as "kept" from row_digest
   where kind = $1 and row_key > $2 and ($3::text is null or row_key <= $3) order by row_key`,
)

/** Rows of a table after a key, with what is kept of them, and those that are kept and gone. @returns the last key, or null at the end. */
export async function listDigestedRows(
  connection: Connection,
  table: string,
  after: string,
  limit: number,
): Promise<{ readonly rows: readonly DigestedRow[]; readonly last: string | null }> {
  const list = rowStatements.find((each) => each.table === table)?.list
  if (!list) throw new Error(`No digest is made of ${table}.`)
  const found = await connection.query<Omit<DigestedRow, 'kept'>>(list, [after, limit])
  const last = found.length < limit ? null : (found.at(-1)?.rowKey ?? null)
  const kept = await connection.query<Pick<DigestedRow, 'rowKey' | 'kept'>>(keptStatement, [
    table,
    after,
    last,
  ])
  const keptOf = new Map(kept.map((row) => [row.rowKey, row.kept]))
  const rows = found.map((row) => ({ ...row, kept: keptOf.get(row.rowKey) ?? null }))
  const there = new Set(found.map(({ rowKey }) => rowKey))
  const gone = kept
    .filter(({ rowKey }) => !there.has(rowKey))
    .map((row) => ({ ...row, subject: null, digest: null }))
  return { rows: [...rows, ...gone], last }
}

const writeRowsStatement = statement(
  'write_row_digests',
  `insert into row_digest (kind, row_key, digest)
   select $1, row_key, digest from unnest($2::text[], $3::bytea[]) as given (row_key, digest)
   on conflict (kind, row_key) do update set digest = excluded.digest`,
)
const removeRowsStatement = statement(
  'remove_row_digests',
  'delete from row_digest where kind = $1 and row_key = any($2::text[])',
)

/** Keeps rows as they are, and no more those that are gone. */
export async function writeRowDigests(
  connection: Connection,
  table: string,
  rows: readonly DigestedRow[],
): Promise<void> {
  const there = rows.filter(({ digest }) => digest !== null)
  const gone = rows.filter(({ digest }) => digest === null)
  const keys = (some: readonly DigestedRow[]) => some.map(({ rowKey }) => rowKey)
  const digests = there.map(({ digest }) => digest)
  await connection.query(writeRowsStatement, [table, keys(there), digests])
  await connection.query(removeRowsStatement, [table, keys(gone)])
}

// By their bytes, whatever the database sorts texts by.
const rowsFoldStatement = statement(
  'fold_row_digests',
  `select sha256(coalesce(string_agg(
     sha256(convert_to(json_build_array(kind, row_key, encode(digest, 'hex'))::text, 'UTF8')),
     ''::bytea order by kind collate "C", row_key collate "C"
   ), ''::bytea)) as "fold" from row_digest`,
)

/** A digest of all that is kept of clients, products, keys and links. */
export const foldRowDigests = async (connection: Connection): Promise<Uint8Array> => {
  const row = firstRow(await connection.query<{ readonly fold: Uint8Array }>(rowsFoldStatement))
  if (!row) throw new Error('A digest of no rows is a digest, too.')
  return row.fold
}

const newestActStatement = statement(
  'find_newest_act_number',
  `select coalesce(max(number), 0)::float8 as "number" from audit_act`,
)

export const findNewestActNumber = async (connection: Connection): Promise<number> =>
  firstRow(await connection.query<{ number: number }>(newestActStatement))?.number ?? 0

const subjectsStatement = statement(
  'list_act_subjects',
  `select distinct subject_kind as "subjectKind", subject from audit_act where number > $1::bigint`,
)

/** What acts after a number were on. */
export const listActSubjects = (
  connection: Connection,
  after: number,
): Promise<{ subjectKind: string; subject: string }[]> =>
  connection.query(subjectsStatement, [after])

// A card that is re-encrypted gets another key without an event, for as long as that takes.
const reEncryptionStatement = statement(
  'has_recent_re_encryption',
  `select exists (
     select 1 from re_encryption where finished_at is null or finished_at > clock_timestamp() - interval '3 days'
   ) as "isThere"`,
)

/** Whether cards are put under another key, or were within three days. */
export const hasRecentReEncryption = async (connection: Connection): Promise<boolean> =>
  firstRow(await connection.query<{ isThere: boolean }>(reEncryptionStatement))?.isThere ?? false

const unpublishedStatement = statement(
  'has_event_unpublished_since',
  `select exists (select 1 from event where not published and occurred_at <= $1::timestamptz) as "isThere"`,
)
const unenteredStatement = statement(
  'has_event_unentered_since',
  `select exists (
     select 1 from feed_head
     left join audit_feed on audit_feed.client_id = feed_head.client_id
     join published_event on published_event.client_id = feed_head.client_id
       and published_event.position > coalesce(audit_feed.position, 0)
     where last_position > coalesce(audit_feed.position, 0)
       and published_event.occurred_at <= $1::timestamptz
   ) as "isThere"`,
)

/** Whether an event of before an instant is not entered yet. */
export async function isEnteringBehind(connection: Connection, at: Date): Promise<boolean> {
  for (const behind of [unpublishedStatement, unenteredStatement]) {
    const row = firstRow(await connection.query<{ isThere: boolean }>(behind, [at]))
    if (row?.isThere) return true
  }
  return false
}

const gapsStatement = statement(
  'list_act_number_gaps',
  `select after::float8 as "after", number::float8 as "number"
   from (select number, lag(number, 1, 0::bigint) over (order by number) as after from audit_act) as numbered
   where number <> after + 1 order by 1 limit $1`,
)

/** Where numbers of acts are missing: between these two. */
export const listNumberGaps = (
  connection: Connection,
  limit: number,
): Promise<{ after: number; number: number }[]> => connection.query(gapsStatement, [limit])

const findingsStatement = statement(
  'list_recent_findings',
  `select subject, details, acted_at as "at" from audit_act
   where subject_kind <> 'key' and acted_at > clock_timestamp() - make_interval(days => $1) and act = 'check.found'
   order by acted_at desc, number desc limit $2`,
)

/** What checks found within so many days, the newest first. */
export const listFindings = (
  connection: Connection,
  days: number,
  limit: number,
): Promise<{ subject: string; details: string; at: Date }[]> =>
  connection.query(findingsStatement, [days, limit])
