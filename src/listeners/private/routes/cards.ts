import Type from 'typebox'
import { isPositiveInteger, isPublicToken, isUuid } from '../../../domain/identifiers.ts'
import { parsePan } from '../../../domain/pan.ts'
import {
  type CardSearch,
  readSupportedCard,
  searchAllCards,
} from '../../../operations/cards/search.ts'
import { readTimeline, type TimelinePosition } from '../../../operations/cards/timeline.ts'
import * as pages from '../../http/pages.ts'
import { exactlyOneOf } from '../../http/request.ts'
import { cardOf, type PrivateApi, support } from '../api.ts'
import * as cardSchemas from '../schemas/cards.ts'

const tags = ['Cards']
const params = Type.Object({ publicToken: Type.String() })

/** Cards of all clients, by what somebody on the telephone knows of one. */
export function searchCardsRoute({ app, cards }: PrivateApi): void {
  app.post(
    '/cards/search',
    {
      config: {
        ...support,
        notRepeatable: 'It changes nothing.',
        bodyRequired: true,
        bodyRules: [
          exactlyOneOf(
            'publicToken',
            'pan',
            'panLastFour',
            'customerReference',
            'authorizationReference',
          ),
        ],
      },
      schema: {
        operationId: 'searchCards',
        summary: 'Search cards of all clients',
        description:
          'Newest first. A body, so that a card number is in no URL. The `Link` of a page is called with the same body.',
        tags,
        querystring: pages.PageQuerySchema,
        body: cardSchemas.SearchCardsSchema,
        response: { 200: Type.Array(cardSchemas.FoundCardSchema) },
      },
    },
    async (request, reply) => {
      const { cursor, limit } = request.query
      const search = searchOf(request.body, cursor)
      if (!search) return []
      const pageSize = pages.parseLimit(limit)
      const found = await searchAllCards(cards, search, pageSize + 1)
      return pages.pageOf(request, reply, found, {
        limit: pageSize,
        positionOf: ({ authorization, createdAt, publicToken }) =>
          authorization ? [authorization.authorizationId] : [createdAt, publicToken],
      })
    },
  )
}

type SearchBody = Partial<
  Record<
    'publicToken' | 'pan' | 'panLastFour' | 'customerReference' | 'authorizationReference',
    string
  >
>

/** What is looked for; null where no card can be found by it. One member is given: the route's rule has seen to that. */
function searchOf(
  { authorizationReference, customerReference, pan: digits, panLastFour, publicToken }: SearchBody,
  cursor: string | undefined,
): CardSearch | null {
  if (authorizationReference !== undefined) {
    const before = pages.readCursor(cursor, ([id]) => (isUuid(id) ? id : null))
    return { authorizationReference, before }
  }
  const after = pages.readCursor(cursor, ([at, token]) => {
    const createdAt = pages.parseInstant(at)
    return createdAt !== null && isPublicToken(token) ? { createdAt, publicToken: token } : null
  })
  if (panLastFour !== undefined) return { panLastFour, after }
  if (customerReference !== undefined) return { customerReference, after }
  const pan = parsePan(digits ?? '')
  if (pan) return { pan }
  return isPublicToken(publicToken) ? { publicToken } : null
}

/** A card of any client, and what happened to it. */
export function cardRoutes({ app, cards }: PrivateApi): void {
  app.get(
    '/cards/:publicToken',
    {
      config: support,
      schema: {
        operationId: 'readCardOfAnyClient',
        summary: 'Read a card of any client',
        description: "Its status and why, its tries, its limits. Nobody's name.",
        tags,
        params,
        response: { 200: cardSchemas.SupportedCardSchema },
      },
    },
    async (request) => {
      const { limits, ...card } = await readSupportedCard(cards, cardOf(request))
      return { ...card, limits: [...limits] }
    },
  )
  app.get(
    '/cards/:publicToken/timeline',
    {
      config: support,
      schema: {
        operationId: 'listCardTimeline',
        summary: 'List all that happened to a card',
        description:
          'Changes with their deliveries, disclosures, tries and authorizations in one list, newest first.',
        tags,
        params,
        querystring: pages.PageQuerySchema,
        response: { 200: Type.Array(cardSchemas.TimelineEntrySchema) },
      },
    },
    async (request, reply) => {
      const { cursor, limit } = request.query
      const { entries, next } = await readTimeline(cards, cardOf(request), {
        after: pages.readCursor(cursor, parseTimelinePosition),
        limit: pages.parseLimit(limit),
      })
      if (next) {
        const { act, authorizationId, cvv, pin, sequence } = next
        const position = pages.writeCursor([sequence, pin, cvv, authorizationId, act])
        pages.linkNext(request, reply, { cursor: position })
      }
      return [...entries]
    },
  )
}

function parseTimelinePosition(given: readonly unknown[]): TimelinePosition | null {
  const [sequence, pin, cvv, authorizationId, act] = given
  return isPositiveInteger(sequence) &&
    isPositiveInteger(pin) &&
    isPositiveInteger(cvv) &&
    isUuid(authorizationId) &&
    typeof act === 'number' &&
    Number.isSafeInteger(act)
    ? { sequence, pin, cvv, authorizationId, act }
    : null
}
