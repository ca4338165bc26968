import type { FastifyReply, FastifyRequest } from 'fastify'
import Type from 'typebox'
import { isCalendarDate } from '../../domain/calendar.ts'
import { parameterFault, validationFailed } from '../../domain/problem.ts'
import { closed, stringPatterns } from './validation.ts'

/** What a page of a list is asked for by. */
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

/** A position in a list, as an opaque text. */
export const writeCursor = (position: readonly (string | number)[]): string =>
  Buffer.from(JSON.stringify(position)).toString('base64url')

/**
 * The position that a cursor stands for, or null where none is given.
 * @param parse takes what {@link writeCursor} was given, and gives null for anything else.
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
    // What is no JSON is no position, either.
  }
  const position = Array.isArray(written) ? parse(written) : null
  if (position === null) {
    throw validationFailed(parameterFault('cursor', 'must come from a Link header'))
  }
  return position
}

// The database has no year 0.
const instant = /^((?!0000)\d{4}-\d{2}-\d{2})T([01]\d|2[0-3]):[0-5]\d:[0-5]\d\.\d{6}Z$/

/** An instant in a cursor, to the microsecond, or null if it is none. */
export function parseInstant(text: unknown): string | null {
  const date = typeof text === 'string' ? instant.exec(text)?.[1] : undefined
  return date !== undefined && isCalendarDate(date) ? String(text) : null
}

/** How many rows a page has, and what its cursor says of the last of them. */
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

/** Leads to the next page by the `Link` of the answer (RFC 8288), the other parameters kept. */
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
