import { type Connection, firstRow } from '../engine/database.ts'
import { loadStatements } from '../engine/statements.ts'
import type { DigestedTable } from './digested-columns.ts'

const declare = loadStatements(import.meta.url)

/** The position up to which entries are followed, and the progress of the present or last check. */
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
  /** Covers the whole row; null before the first check. */
  readonly signature: Uint8Array | null
}

const selectCheck = declare<object, CheckRow>('find_audit_check')

export const findCheck = async (connection: Connection): Promise<CheckRow | null> =>
  firstRow(await selectCheck(connection, {}))

/** Includes the time of the database. */
export interface LockedCheck extends CheckRow {
  readonly now: Date
}

const selectLocked = declare<object, LockedCheck>('lock_audit_check')

/** Returns the check and locks it until the transaction ends; null when another process runs it. */
export const lockCheck = async (connection: Connection): Promise<LockedCheck | null> =>
  firstRow(await selectLocked(connection, {}))

const update = declare<CheckRow>('write_audit_check')

/** Writes the whole row. */
export const writeCheck = async (connection: Connection, row: CheckRow): Promise<void> => {
  await update(connection, row)
}

/** The result of the newest check. */
export interface CheckResult {
  readonly actId: string
  readonly number: number
  /** As JSON. */
  readonly details: string
  readonly at: Date
  /** Whether a version that signs the state of the check produced any result. */
  readonly isStateSigned: boolean
}

const selectResult = declare<object, CheckResult>('find_newest_check_result')

/** Returns the newest act with the result of a check; null before the first. */
export const findNewestResult = async (connection: Connection): Promise<CheckResult | null> =>
  firstRow(await selectResult(connection, {}))

/** The digest of a row of a table. */
export interface DigestedRow {
  readonly rowKey: string
  /** The subject in acts on the row; null if only the stored digest of the row exists. */
  readonly subject: string | null
  /** The present and the stored digest; null if one is missing. */
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
 * Lists the rows of a table after a key with their stored digests, including digests of deleted
 * rows.
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

/** Stores the digests of present rows, and deletes those of deleted rows. */
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

const deleteAllCards = declare<object>('remove_card_digests_of_all')
const deleteAllRows = declare<object>('remove_row_digests_of_all')

/** Deletes the stored digests of all cards and rows. */
export async function removeAllDigests(connection: Connection): Promise<void> {
  await deleteAllCards(connection, {})
  await deleteAllRows(connection, {})
}

const selectFold = declare<object, { readonly fold: Uint8Array }>('fold_row_digests')

/** Computes a digest of all stored digests of clients, products, keys and links. */
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

/** Whether a re-encryption moves cards to another key, or did within three days. */
export const hasRecentReEncryption = async (connection: Connection): Promise<boolean> =>
  firstRow(await selectReEncryption(connection, {}))?.isThere ?? false

const selectUnpublished = declare<{ at: Date }, { isThere: boolean }>('has_event_unpublished_since')
const selectUnentered = declare<{ at: Date }, { isThere: boolean }>('has_event_unentered_since')

/** Whether an event from before an instant is not yet entered. */
export async function isEnteringBehind(connection: Connection, at: Date): Promise<boolean> {
  for (const behind of [selectUnpublished, selectUnentered]) {
    if (firstRow(await behind(connection, { at }))?.isThere) return true
  }
  return false
}

const selectGaps = declare<{ limit: number }, { after: number; number: number }>(
  'list_act_number_gaps',
)

/** Lists the gaps in the numbers of acts, each by its adjacent numbers. */
export const listNumberGaps = (
  connection: Connection,
  limit: number,
): Promise<{ after: number; number: number }[]> => selectGaps(connection, { limit })

const selectFindings = declare<
  { days: number; limit: number },
  { subject: string; details: string; at: Date }
>('list_recent_findings')

/** Lists the findings of checks within a number of days, newest first. */
export const listFindings = (
  connection: Connection,
  days: number,
  limit: number,
): Promise<{ subject: string; details: string; at: Date }[]> =>
  selectFindings(connection, { days, limit })
