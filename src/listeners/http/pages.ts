import type { FastifyReply, FastifyRequest } from 'fastify'
import Type from 'typebox'
import { isCalendarDate } from '../../domain/calendar.ts'
import { parameterFault, validationFailed } from '../../domain/problem.ts'
import { closed, stringPatterns } from './validation.ts'

/** The query parameters of a page. */
export const pageMembers = {
  limit: Type.Optional(
    Type.String({ pattern: stringPatterns.pageLimit, description: '1 to 100; default 100.' }),
  ),
  cursor: Type.Optional(
    Type.String({
      maxLength: 200,
      pattern: stringPatterns.cursor,
      description: 'From the `Link` header of the previous page.',
    }),
  ),
}

export const PageQuerySchema = Type.Object(pageMembers, closed)

/** Parses the requested number of entries; the default is 100. */
export const parseLimit = (text: string | undefined): number =>
  text === undefined ? 100 : Number(text)

/** Writes a position in a list as an opaque text. */
export const writeCursor = (position: readonly (string | number)[]): string =>
  Buffer.from(JSON.stringify(position)).toString('base64url')

/**
 * Parses the position in a cursor; null without a cursor.
 * @param parse converts the value that {@link writeCursor} got, and returns null for others.
 * @throws `Problem` `validation_failed` at `/cursor`.
 */
export function readCursor<Position>(
  cursor: string | undefined,
  parse: (position: readonly unknown[]) => Position | null,
): Position | null {
  if (cursor === undefined) return null
  let written: unknown = null
  try {
    written = JSON.parse(Buffer.from(cursor, 'base64url').toString())
  } catch {
    // A text that is not JSON is not a position either.
  }
  const position = Array.isArray(written) ? parse(written) : null
  if (position === null) {
    throw validationFailed(parameterFault('cursor', 'must come from a Link header'))
  }
  return position
}

// The database has no year 0.
const instant = /^((?!0000)\d{4}-\d{2}-\d{2})T([01]\d|2[0-3]):[0-5]\d:[0-5]\d\.\d{6}Z$/

/** Parses an instant in a cursor, to the microsecond; null for other values. */
export function parseInstant(text: unknown): string | null {
  const date = typeof text === 'string' ? instant.exec(text)?.[1] : undefined
  return date !== undefined && isCalendarDate(date) ? String(text) : null
}

/** The number of rows in a page, and the cursor of its last row. */
interface PageRules<Row> {
  readonly limit: number
  readonly toPosition: (row: Row) => readonly (string | number)[]
}

/**
 * Returns one page of rows. When one more row was read than fits, a next page exists, and the
 * answer's `Link` names it.
 */
export function cutPage<Row>(
  request: FastifyRequest,
  reply: FastifyReply,
  rows: readonly Row[],
  { limit, toPosition }: PageRules<Row>,
): Row[] {
  const page = rows.slice(0, limit)
  const last = rows.length > limit ? page.at(-1) : undefined
  if (last) linkNext(request, reply, { cursor: writeCursor(toPosition(last)) })
  return page
}

/** Adds a `Link` to the next page with the same other parameters (RFC 8288). */
export function linkNext(
  { url }: FastifyRequest,
  reply: FastifyReply,
  position: Readonly<Record<string, string>>,
): void {
  const [path = '', query = ''] = url.split('?')
  const parameters = new URLSearchParams(query)
  for (const [name, value] of Object.entries(position)) parameters.set(name, value)
  reply.header('link', `<${path}?${parameters}>; rel="next"`)
}
