import { isUuid } from '../../domain/identifiers.ts'
import {
  type ErasureEntryRow,
  listBlankEntries,
  listErasureEntries,
} from '../../storage/audit-log/erasure-entries.ts'
import { type ErasureRow, listErasures } from '../../storage/audit-log/erasures.ts'
import type { AuditLogRow } from '../../storage/audit-log/log.ts'
import type { Connection } from '../../storage/engine/database.ts'
import type { AuditFinding } from './record-finding.ts'

/** The maximum number of findings of each kind that one step enters. */
const findingsMost = 100

/** The content of an erasure's entry. */
interface SaidErasure {
  readonly index: number
  readonly entryId: string
  /** Null if the entry names no erasure. */
  readonly erasure: string | null
  readonly requestedBy: unknown
  /** Whether all entries that it names as erased precede it, or are in an earlier log. */
  readonly isBehind: boolean
}

/**
 * Compares the entries of a range that record erasures with the table of erasures, and finds
 * entries without a text: none is erased before it was followed.
 */
export async function checkErasures(
  connection: Connection,
  logs: readonly AuditLogRow[],
  { log, origin }: AuditLogRow,
  range: readonly [from: number, end: number],
): Promise<AuditFinding[]> {
  const blank = await listBlankEntries(connection, log, range, findingsMost)
  const entries = await listErasureEntries(connection, log, range)
  const beginnings = logs.map((each) => [each.origin, each.log < log ? each.size : 0] as const)
  const said = entries.map((entry) =>
    readErasure(entry, new Map([...beginnings, [origin, entry.index]])),
  )
  const ids = said.flatMap(({ erasure }) => (erasure === null ? [] : [erasure]))
  const rows = ids.length > 0 ? await listErasures(connection, ids) : []
  const rowsById = new Map(rows.map((row) => [row.erasureId, row]))
  const unfounded = said.filter((each) => !isFounded(each, rowsById.get(each.erasure ?? '')))
  return [
    ...blank.map(
      ({ index }): AuditFinding => ({ found: 'entry blank', details: { origin, index } }),
    ),
    ...unfounded.slice(0, findingsMost).map(
      ({ entryId, index }): AuditFinding => ({
        found: 'erasure unfounded',
        details: { origin, index, entry: entryId },
      }),
    ),
  ]
}

const isFounded = ({ isBehind, requestedBy }: SaidErasure, row: ErasureRow | undefined): boolean =>
  isBehind && row !== undefined && row.requestedBy === requestedBy

/** Whether the text of an entry requests this erasure: by its id, its kind and its requester. */
export function requestsErasure(
  { erasureId, kind, requestedBy }: ErasureRow,
  { act, text }: { readonly act: string; readonly text: string | null },
): boolean {
  const { client = null, details, subject } = parseEntry(text ?? '')
  return (
    act === 'erasure.requested' &&
    subject === erasureId &&
    client === requestedBy &&
    parseMembers(details).of === kind
  )
}

/** @param ends the number of entries in each log, by origin, before this entry */
function readErasure(
  { act, entryId, index, text }: ErasureEntryRow,
  ends: ReadonlyMap<unknown, number>,
): SaidErasure {
  const { client = null, details, subject } = parseEntry(text)
  if (act === 'erasure.requested') {
    const erasure = isUuid(subject) ? subject : null
    return { index, entryId, erasure, requestedBy: client, isBehind: true }
  }
  const { erasure, ranges, requestedBy = null } = parseMembers(details)
  const end = ends.get(subject) ?? 0
  const isBehind = Array.isArray(ranges) && ranges.every((pair) => pair?.[1] < end)
  return { index, entryId, erasure: isUuid(erasure) ? erasure : null, requestedBy, isBehind }
}

const parseMembers = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null ? { ...value } : {}

/** Parses the members of an entry's text; none if it was changed by hand and is no object. */
function parseEntry(text: string): Readonly<Record<string, unknown>> {
  try {
    return parseMembers(JSON.parse(text))
  } catch {
    return {}
  }
}
