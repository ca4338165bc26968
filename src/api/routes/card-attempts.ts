import Type from 'typebox'
import { isPositiveInteger } from '../../domain/identifiers.ts'
import { nextLink, parseInstant, parseLimit, readCursor, writeCursor } from '../../http/cursor.ts'
import { type AttemptPosition, listAttempts } from '../../issuing/list-attempts.ts'
import { type Api, callerOf, publicTokenOf } from '../api.ts'
import { CardParamsSchema, PageQuerySchema } from '../schemas/requests.ts'
import { AttemptSchema } from '../schemas/responses.ts'

export function cardAttemptRoutes({ app, base, issuing }: Api): void {
  app.get(
    `${base}/cards/:publicToken/attempts`,
    {
      config: { access: 'cards.read', lists: true },
      schema: {
        operationId: 'listAttempts',
        summary: "List a card's attempts",
        description: 'Every PIN and CVV try that was spent, newest first. Never the value tried.',
        tags: ['Cards'],
        params: CardParamsSchema,
        querystring: PageQuerySchema,
        response: { 200: Type.Array(AttemptSchema) },
      },
    },
    async (request, reply) => {
      const { cursor, limit } = request.query
      const after = readCursor(cursor, parsePosition)
      const publicToken = publicTokenOf(request)
      const page = await listAttempts(
        issuing,
        callerOf(request),
        publicToken,
        after,
        parseLimit(limit),
      )
      if (page.next) {
        const { at, kind, tryNumber } = page.next
        reply.header('link', nextLink(request.url, writeCursor([at, kind, tryNumber])))
      }
      return page.attempts.map(({ at, ...attempt }) => ({ ...attempt, at: at.toISOString() }))
    },
  )
}

function parsePosition([at, kind, tryNumber]: readonly unknown[]): AttemptPosition | null {
  const instant = parseInstant(at)
  if (instant === null || (kind !== 'pin' && kind !== 'cvv')) return null
  return isPositiveInteger(tryNumber) ? { at: instant, kind, tryNumber } : null
}
