import Type, { type Static, type TSchema } from 'typebox'
import { type Content, type Html, html } from '../listeners/http/html.ts'
import { cursorAfter, parseAnswer } from './listener-answers.ts'
import { path, type Visit } from './screen.ts'

/** A page of a list, with the cursor of the next one. */
export interface Listing<Schema extends TSchema> {
  readonly entries: Static<Schema>[]
  readonly next: string | null
}

/**
 * Reads a page of a list, at the cursor in the visit's query.
 * @param limit of its entries.
 * @throws `Problem` of the listener
 */
export async function list<Schema extends TSchema>(
  visit: Visit,
  address: string,
  schema: Schema,
  limit = 100,
): Promise<Listing<Schema>> {
  const { cursor } = visit.query
  const joint = address.includes('?') ? '&' : '?'
  const answer = await visit.call(
    'GET',
    `${address}${joint}limit=${limit}${cursor ? path`&cursor=${cursor}` : ''}`,
  )
  return { entries: parseAnswer(answer, Type.Array(schema)), next: cursorAfter(answer) }
}

/** A column of a table. */
export interface Column<Row> {
  /** Empty for a column of buttons. */
  readonly title: string
  readonly cell: (row: Row) => Content
  /** The whole of what a cell abbreviates, shown under the pointer. */
  readonly tip?: (row: Row) => string | null | undefined
  /** `name` for the cell that identifies its row. */
  readonly kind?: 'name' | 'number'
  /** A class of its cells in the style sheets. */
  readonly look?: 'amount' | 'one-line'
}

interface Table<Row> {
  /** For screen readers. */
  readonly name: string
  readonly columns: readonly Column<Row>[]
  readonly rows: readonly Row[]
  /** The advice for an empty table. */
  readonly empty: Content
  /** Whether each row stays one line. */
  readonly isOneLine?: boolean
  /** The id of a row, which links lead to. */
  readonly rowId?: (row: Row) => string
}

/**
 * Renders a table, which scrolls if it is too wide. A telephone stacks the cells of a row, each
 * under the title of its column (web/console/styles/tables.css).
 */
export function renderTable<Row>(table: Table<Row>): Html {
  const { columns, empty, name, rows } = table
  if (rows.length === 0) return html`<p class="empty">${empty}</p>`
  return html`<div class="scroll" tabindex="0" role="region" aria-label="${name}">
    <table class="list">
      <thead><tr>${columns.map(renderHead)}</tr></thead>
      <tbody>${rows.map((row) => renderRow(table, row))}</tbody>
    </table>
  </div>`
}

function renderRow<Row>({ columns, isOneLine = false, rowId }: Table<Row>, row: Row): Html {
  const attributes = [rowId && html` id="${rowId(row)}"`, isOneLine && html` class="line"`]
  return html`<tr${attributes}>${columns.map((column) => renderCell(column, row))}</tr>`
}

function renderHead<Row>({ kind, title }: Column<Row>): Html {
  if (title === '') return html`<td></td>`
  return html`<th scope="col"${kind === 'number' && html` class="number"`}>${title}</th>`
}

function renderCell<Row>({ cell, kind, look, tip, title }: Column<Row>, row: Row): Html {
  const looks = [kind === 'number' && kind, look].filter(Boolean).join(' ')
  const tipText = tip?.(row)
  const attributes = html` data-title="${title}"${looks !== '' && html` class="${looks}"`}${
    tipText && html` title="${tipText}"`
  }`
  return kind === 'name'
    ? html`<th${attributes} scope="row">${cell(row)}</th>`
    : html`<td${attributes}>${cell(row)}</td>`
}

/** Renders links to the next page, if any, and to the first. */
export const pages = (visit: Visit, next: string | null): Content => {
  const { pathname, searchParams } = new URL(visit.here, 'http://console.invalid')
  const isFurther = searchParams.has('cursor')
  const first = new URLSearchParams(searchParams)
  first.delete('cursor')
  const further = new URLSearchParams(first)
  if (next !== null) further.set('cursor', next)
  return (
    (next !== null || isFurther) &&
    html`<nav class="pages" aria-label="Pages">
      ${isFurther && html`<a href="${pathname}?${String(first)}">First page</a>`}
      ${next !== null && html`<a href="${pathname}?${String(further)}" rel="next">Next page</a>`}
    </nav>`
  )
}
