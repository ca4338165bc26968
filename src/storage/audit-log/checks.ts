import { type Connection, firstRow } from '../engine/database.ts'
import { loadStatements } from '../engine/statements.ts'
import type { DigestedTable } from './digested-columns.ts'

const declare = loadStatements(import.meta.url)

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

const selectCheck = declare<object, CheckRow>('find_audit_check')

export const findCheck = async (connection: Connection): Promise<CheckRow | null> =>
  firstRow(await selectCheck(connection, {}))

/** With the time of the database. */
export interface LockedCheck extends CheckRow {
  readonly now: Date
}

const selectLocked = declare<object, LockedCheck>('lock_audit_check')

/** Returns the check and locks it until the transaction ends; null when another process runs it. */
export const lockCheck = async (connection: Connection): Promise<LockedCheck | null> =>
  firstRow(await selectLocked(connection, {}))

const update = declare<CheckRow>('write_audit_check')

/** Writes the row, whole. */
export const writeCheck = async (connection: Connection, row: CheckRow): Promise<void> => {
  await update(connection, row)
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

const selectResult = declare<object, CheckResult>('find_newest_check_result')

/** The newest act that says what came of a check; null before the first. */
export const findNewestResult = async (connection: Connection): Promise<CheckResult | null> =>
  firstRow(await selectResult(connection, {}))

/** A row of a table, by its digest. */
export interface DigestedRow {
  readonly rowKey: string
  /** What an act on it names; null where the row is kept from before and is not there any more. */
  readonly subject: string | null
  /** As it is, and as it was kept; null where it is not. */
  readonly digest: Uint8Array | null
  readonly kept: Uint8Array | null
}

type Page = { after: string; limit: number }
type FoundRow = Omit<DigestedRow, 'kept'>

const selectClients = declare<Page, FoundRow>('list_digested_rows_of_client')
const selectClientProducts = declare<Page, FoundRow>('list_digested_rows_of_client_product')
const selectProducts = declare<Page, FoundRow>('list_digested_rows_of_product')
const selectHsmKeys = declare<Page, FoundRow>('list_digested_rows_of_hsm_key')
const selectZoneKeys = declare<Page, FoundRow>('list_digested_rows_of_zone_key')
const selectZoneMasterKeys = declare<Page, FoundRow>('list_digested_rows_of_zone_master_key')
const selectLinks = declare<Page, FoundRow>('list_digested_rows_of_link')

const selectRowsByTable: Readonly<Record<DigestedTable, typeof selectClients>> = {
  client: selectClients,
  client_product: selectClientProducts,
  product: selectProducts,
  hsm_key: selectHsmKeys,
  zone_key: selectZoneKeys,
  zone_master_key: selectZoneMasterKeys,
  link: selectLinks,
}

const selectKept = declare<
  { table: DigestedTable; after: string; upTo: string | null },
  Pick<DigestedRow, 'rowKey' | 'kept'>
>('list_row_digests')

/**
 * Rows of a table after a key, with what is kept of them, and those that are kept and gone.
 * @returns the last key, or null at the end.
 */
export async function listDigestedRows(
  connection: Connection,
  table: DigestedTable,
  after: string,
  limit: number,
): Promise<{ readonly rows: readonly DigestedRow[]; readonly last: string | null }> {
  const found = await selectRowsByTable[table](connection, { after, limit })
  const last = found.length < limit ? null : (found.at(-1)?.rowKey ?? null)
  const kept = await selectKept(connection, { table, after, upTo: last })
  const keptByKey = new Map(kept.map((row) => [row.rowKey, row.kept]))
  const rows = found.map((row) => ({ ...row, kept: keptByKey.get(row.rowKey) ?? null }))
  const there = new Set(found.map(({ rowKey }) => rowKey))
  const gone = kept
    .filter(({ rowKey }) => !there.has(rowKey))
    .map((row) => ({ ...row, subject: null, digest: null }))
  return { rows: [...rows, ...gone], last }
}

const upsertRows = declare<{
  table: DigestedTable
  rowKeys: readonly string[]
  digests: readonly (Uint8Array | null)[]
}>('write_row_digests')
const deleteRows = declare<{ table: DigestedTable; rowKeys: readonly string[] }>(
  'remove_row_digests',
)

/** Keeps rows as they are, and no more those that are gone. */
export async function writeRowDigests(
  connection: Connection,
  table: DigestedTable,
  rows: readonly DigestedRow[],
): Promise<void> {
  const there = rows.filter(({ digest }) => digest !== null)
  const gone = rows.filter(({ digest }) => digest === null)
  const keys = (some: readonly DigestedRow[]) => some.map(({ rowKey }) => rowKey)
  const digests = there.map(({ digest }) => digest)
  await upsertRows(connection, { table, rowKeys: keys(there), digests })
  await deleteRows(connection, { table, rowKeys: keys(gone) })
}

const selectFold = declare<object, { readonly fold: Uint8Array }>('fold_row_digests')

/** A digest of all that is kept of clients, products, keys and links. */
export const foldRowDigests = async (connection: Connection): Promise<Uint8Array> => {
  const row = firstRow(await selectFold(connection, {}))
  if (!row) throw new Error('A digest of no rows is a digest, too.')
  return row.fold
}

const selectNewestNumber = declare<object, { number: number }>('find_newest_act_number')

export const findNewestActNumber = async (connection: Connection): Promise<number> =>
  firstRow(await selectNewestNumber(connection, {}))?.number ?? 0

const selectSubjects = declare<{ after: number }, { subjectKind: string; subject: string }>(
  'list_act_subjects',
)

/** Lists the subjects of acts after a number. */
export const listActSubjects = (
  connection: Connection,
  after: number,
): Promise<{ subjectKind: string; subject: string }[]> => selectSubjects(connection, { after })

const selectReEncryption = declare<object, { isThere: boolean }>('has_recent_re_encryption')

/** Whether cards are put under another key, or were within three days. */
export const hasRecentReEncryption = async (connection: Connection): Promise<boolean> =>
  firstRow(await selectReEncryption(connection, {}))?.isThere ?? false

const selectUnpublished = declare<{ at: Date }, { isThere: boolean }>('has_event_unpublished_since')
const selectUnentered = declare<{ at: Date }, { isThere: boolean }>('has_event_unentered_since')

/** Whether an event of before an instant is not entered yet. */
export async function isEnteringBehind(connection: Connection, at: Date): Promise<boolean> {
  for (const behind of [selectUnpublished, selectUnentered]) {
    if (firstRow(await behind(connection, { at }))?.isThere) return true
  }
  return false
}

const selectGaps = declare<{ limit: number }, { after: number; number: number }>(
  'list_act_number_gaps',
)

/** Lists the gaps in the numbers of acts, each by the numbers beside it. */
export const listNumberGaps = (
  connection: Connection,
  limit: number,
): Promise<{ after: number; number: number }[]> => selectGaps(connection, { limit })

const selectFindings = declare<
  { days: number; limit: number },
  { subject: string; details: string; at: Date }
>('list_recent_findings')

/** Lists the findings of checks within so many days, newest first. */
export const listFindings = (
  connection: Connection,
  days: number,
  limit: number,
): Promise<{ subject: string; details: string; at: Date }[]> =>
  selectFindings(connection, { days, limit })
