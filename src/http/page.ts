import type { FastifyReply, FastifyRequest } from 'fastify'
import { nextLink, writeCursor } from './cursor.ts'

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
