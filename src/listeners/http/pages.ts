import type { FastifyReply, FastifyRequest } from 'fastify'
import { isCalendarDate } from '../../domain/calendar.ts'
import { validationFailed } from '../../domain/problem.ts'

/** Entries on a page, unless fewer are asked for. */
const pageLimit = 100

/** The number of entries asked for: `^([1-9][0-9]?|100)$` by its schema. */
export const parseLimit = (text: string | undefined): number =>
  text === undefined ? pageLimit : Number(text)

/** A position in a list, as an opaque text. */
export const writeCursor = (position: readonly (string | number)[]): string =>
  Buffer.from(JSON.stringify(position)).toString('base64url')

/**
 * The position that a cursor holds, or null where none is given.
 * @param parse takes what {@link writeCursor} was given, and gives null for anything else.
 * @throws `Problem` `validation_failed` at `/cursor`.
 */
export function readCursor<Position>(
  cursor: string | undefined,
  parse: (position: readonly unknown[]) => Position | null,
): Position | null {
  if (cursor === undefined) return null
  const position = parse(decode(cursor))
  if (position === null) {
    throw validationFailed({ pointer: '/cursor', detail: 'must come from a Link header' })
  }
  return position
}

function decode(cursor: string): readonly unknown[] {
  try {
    const position: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString())
    return Array.isArray(position) ? position : []
  } catch {
    return []
  }
}

// The database has no year 0.
const instant = /^((?!0000)\d{4}-\d{2}-\d{2})T([01]\d|2[0-3]):[0-5]\d:[0-5]\d\.\d{6}Z$/

/** An instant in a cursor, to the microsecond, or null if it is none. */
export function parseInstant(text: unknown): string | null {
  const date = typeof text === 'string' ? instant.exec(text)?.[1] : undefined
  return date !== undefined && isCalendarDate(date) ? String(text) : null
}

/** The `Link` header that leads to the next page (RFC 8288), the other parameters kept. */
export function nextLink(url: string, cursor: string): string {
  const [path = '', query = ''] = url.split('?')
  const parameters = new URLSearchParams(query)
  parameters.set('cursor', cursor)
  return `<${path}?${parameters}>; rel="next"`
}

/**
 * One page of rows, of which one more was read than is shown: it tells whether there is a next page,
 * and then the answer's `Link` leads there.
 */
export function pageOf<Row>(
  request: FastifyRequest,
  reply: FastifyReply,
  rows: readonly Row[],
  limit: number,
  positionOf: (row: Row) => readonly (string | number)[],
): Row[] {
  const page = rows.slice(0, limit)
  const last = rows.length > limit ? page.at(-1) : undefined
  if (last) reply.header('link', nextLink(request.url, writeCursor(positionOf(last))))
  return page
}
