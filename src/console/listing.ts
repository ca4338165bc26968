import type { Static, TSchema } from 'typebox'
import { type Content, Html, html } from '../listeners/http/html.ts'
import { toProblem } from './console.ts'
import { cursorAfter } from './desk-parts.ts'
import { path, type Visit } from './screen.ts'

/** A page of a list, with the cursor of the next one. */
interface Listing<Schema extends TSchema> {
  readonly entries: Static<Schema>[]
  readonly next: string | null
}

/**
 * Reads a page of a list, at the cursor in the visit's query.
 * @throws `Problem` of the listener
 */
export async function list<Schema extends TSchema>(
  visit: Visit,
  address: string,
  _schema: Schema,
  limit = 100,
): Promise<Listing<Schema>> {
  const { cursor } = visit.query
  const joint = address.includes('?') ? '&' : '?'
  const answer = await visit.call(
    'GET',
    `${address}${joint}limit=${limit}${cursor ? path`&cursor=${cursor}` : ''}`,
  )
  if (answer.status !== 200) throw toProblem(answer)
  return { entries: answer.body as Static<Schema>[], next: cursorAfter(answer) }
}

/** A column of a table: its title, and whether it contains numbers. */
type Column = string | { readonly title: string; readonly isNumber: true }

/**
 * Renders a table, which scrolls if it is too wide. A telephone stacks the cells of a row, each
 * under the title of its column (web/console/styles/tables.css).
 * @param empty the advice for an empty table
 */
export const listed = (
  name: string,
  columns: readonly Column[],
  rows: readonly Content[],
  empty: Content,
): Html =>
  rows.length === 0
    ? html`<p class="empty">${empty}</p>`
    : html`<div class="scroll" tabindex="0" role="region" aria-label="${name}">
        <table class="list">
          <thead><tr>${columns.map(columnHead)}</tr></thead>
          <tbody>${rows.map((row) => titleCells(row, columns))}</tbody>
        </table>
      </div>`

function columnHead(column: Column): Html {
  if (column === '') return html`<td></td>`
  return typeof column === 'string'
    ? html`<th scope="col">${column}</th>`
    : html`<th scope="col" class="number">${column.title}</th>`
}

/**
 * Adds the title of its column to each cell. No text of a cell can be taken for an element, because
 * its `<` is escaped.
 */
function titleCells(row: Content, columns: readonly Column[]): Html {
  let at = 0
  const markup = String(html`${row}`).replaceAll(/<(tr|th|td)\b/g, (start, element) => {
    if (element === 'tr') {
      at = 0
      return start
    }
    const column = columns[at] ?? ''
    at += 1
    return `${start}${html` data-title="${typeof column === 'string' ? column : column.title}"`}`
  })
  return new Html(markup)
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
