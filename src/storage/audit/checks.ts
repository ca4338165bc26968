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
}

const columns = `followed_log as "followedLog", followed_index::float8 as "followedIndex",
  has_baseline as "hasBaseline", started_at as "startedAt", finished_at as "finishedAt", after_token as "afterToken",
  cards::float8 as "cards", findings::float8 as "findings", kept_fold as "keptFold", new_fold as "newFold",
  digested_act as "digestedAct", digested_fold as "digestedFold", acts_number::float8 as "actsNumber"`

const findStatement = statement('find_audit_check', `select ${columns} from audit_check`)
const lockStatement = statement(
  'lock_audit_check',
  `select ${columns} from audit_check for update skip locked`,
)

export const findCheck = async (connection: Connection): Promise<CheckRow | null> =>
  firstRow(await connection.query<CheckRow>(findStatement))

/** The same, locked to the end of the transaction; null where another process is at it. */
export const lockCheck = async (connection: Connection): Promise<CheckRow | null> =>
  firstRow(await connection.query<CheckRow>(lockStatement))

const followStatement = statement(
  'set_entries_followed',
  'update audit_check set followed_log = $1, followed_index = $2::bigint',
)

export const setFollowed = async (
  connection: Connection,
  { log, index }: { readonly log: number; readonly index: number },
): Promise<void> => {
  await connection.query(followStatement, [log, index])
}

const startStatement = statement(
  'start_audit_check',
  `update audit_check set started_at = clock_timestamp(), finished_at = null, after_token = '', cards = 0, findings = 0,
     kept_fold = '', new_fold = ''
   where started_at is null
     or finished_at is not null and clock_timestamp() - started_at > make_interval(secs => $1)
   returning 1 as "one"`,
)

/** Begins a check, where the last one was begun so many seconds ago and is finished. @returns whether it did. */
export const startCheck = async (connection: Connection, everySeconds: number): Promise<boolean> =>
  (await connection.query(startStatement, [everySeconds])).length > 0

const advanceStatement = statement(
  'advance_audit_check',
  `update audit_check set after_token = $1, cards = $2::bigint, findings = $3::bigint, kept_fold = $4, new_fold = $5`,
)

export const advanceCheck = async (
  connection: Connection,
  { afterToken, cards, findings, keptFold, newFold }: CheckRow,
): Promise<void> => {
  await connection.query(advanceStatement, [afterToken, cards, findings, keptFold, newFold])
}

const finishStatement = statement(
  'finish_audit_check',
  `update audit_check set finished_at = clock_timestamp(), has_baseline = true, findings = $1::bigint,
     digested_act = $2::uuid, digested_fold = $3, acts_number = $4::bigint`,
)

export const finishCheck = async (
  connection: Connection,
  {
    actsNumber,
    digestedAct,
    digestedFold,
    findings,
  }: Pick<CheckRow, 'findings' | 'digestedAct' | 'digestedFold' | 'actsNumber'>,
): Promise<void> => {
  await connection.query(finishStatement, [findings, digestedAct, digestedFold, actsNumber])
}

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
