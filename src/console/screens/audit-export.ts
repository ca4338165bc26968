import Type from 'typebox'
import { OperatorEntrySchema } from '../../listeners/private/schemas/audit-log.ts'
import { cursorAfter, parseAnswer } from '../listener-answers.ts'
import type { PageFile, Visit } from '../screen.ts'
import {
  composeEntryQuery,
  type EntryFilter,
  nameEntryAct,
  type OperatorEntry,
} from './audit-entries.ts'

/** The largest number of entries in one file. */
export const exportedMost = 10_000
const pageSize = 100
const EntriesSchema = Type.Array(OperatorEntrySchema)

const moreWords = 'More entries exist. Choose a shorter time.'

/** The columns of the CSV file. */
const columns: Readonly<Record<string, (entry: OperatorEntry) => string | number | null>> = {
  at: ({ at }) => at,
  act: ({ act }) => act,
  actInWords: ({ act }) => nameEntryAct(act),
  outcome: ({ outcome }) => outcome,
  reason: ({ reason }) => reason,
  clientId: ({ clientId }) => clientId,
  clientName: ({ clientName }) => clientName,
  publicToken: ({ publicToken }) => publicToken,
  subject: ({ subject }) => subject,
  count: ({ count }) => count,
  details: ({ details }) => JSON.stringify(details),
  log: ({ log }) => log,
  index: ({ index }) => index,
  entry: ({ entry }) => entry,
  requestId: ({ requestId }) => requestId,
}

/** Writes a cell (RFC 4180). A text that a spreadsheet would calculate begins with a quote. */
function writeCell(value: string | number | null): string {
  const text = String(value ?? '')
  const inert = typeof value === 'string' && /^[=+\-@\t\r]/.test(text) ? `'${text}` : text
  return /[",\r\n]/.test(inert) ? `"${inert.replaceAll('"', '""')}"` : inert
}

const writeRow = (cells: readonly (string | number | null)[]): string =>
  `${cells.map(writeCell).join(',')}\r\n`

/** How each format writes its beginning, an entry, and that more entries exist. */
const formats = {
  csv: {
    mediaType: 'text/csv; charset=utf-8',
    head: writeRow(Object.keys(columns)),
    write: (entry: OperatorEntry) =>
      writeRow(Object.values(columns).map((column) => column(entry))),
    more: writeRow([moreWords]),
  },
  jsonl: {
    mediaType: 'application/jsonl; charset=utf-8',
    head: '',
    write: (entry: OperatorEntry) => `${JSON.stringify(entry)}\n`,
    more: `${JSON.stringify({ more: moreWords })}\n`,
  },
} as const

export const isExportFormat = (text: string | undefined): text is keyof typeof formats =>
  text !== undefined && Object.hasOwn(formats, text)

/**
 * Exports the entries of a filter page by page, so that no file is held in memory. The first page
 * is read before the answer begins: its failure is a page.
 */
export async function exportEntries(
  visit: Visit,
  filter: EntryFilter,
  format: keyof typeof formats,
): Promise<PageFile> {
  const { head, mediaType, more, write } = formats[format]
  const query = composeEntryQuery(filter)
  const read = async (cursor: string | null) => {
    const position = cursor === null ? '' : `&cursor=${encodeURIComponent(cursor)}`
    const answer = await visit.call('GET', `/audit/entries?limit=${pageSize}&${query}${position}`)
    return { entries: parseAnswer(answer, EntriesSchema), next: cursorAfter(answer) }
  }
  const first = await read(null)
  async function* lines(): AsyncGenerator<string> {
    yield head
    let page = first
    for (let count = pageSize; ; count += pageSize) {
      yield page.entries.map(write).join('')
      if (page.next === null) return
      if (count >= exportedMost) break
      page = await read(page.next)
    }
    yield more
  }
  const day = new Date().toISOString().slice(0, 10)
  return { name: `audit-entries-${day}.${format}`, mediaType, lines: lines() }
}
