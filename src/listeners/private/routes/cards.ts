import type { FastifyRequest } from 'fastify'
import { Counter } from 'prom-client'
import Type from 'typebox'
import { isPositiveInteger, isPublicToken, isUuid } from '../../../domain/identifiers.ts'
import { parsePan } from '../../../domain/pan.ts'
import type { Problem } from '../../../domain/problem.ts'
import { listHistoryOfAnyClient } from '../../../operations/cards/history.ts'
import {
  type CardSearch,
  findSupportedCard,
  searchAllCards,
  searchByPan,
} from '../../../operations/cards/search.ts'
import {
  listTimeline,
  type TimelinePosition,
  timelineKinds,
} from '../../../operations/cards/timeline.ts'
import { findChipsOfAnyClient } from '../../../operations/chips/card-chips.ts'
import { requireCaller, requireScope } from '../../http/authentication.ts'
import { CardOfHistorySchema } from '../../http/card-history-members.ts'
import { CardChipSchema } from '../../http/chip-members.ts'
import * as pages from '../../http/pages.ts'
import { requireExactlyOne } from '../../http/request.ts'
import { closed } from '../../http/validation.ts'
import { type PrivateApi, parsePublicToken, support } from '../api.ts'
import * as cardSchemas from '../schemas/cards.ts'

const tags = ['Cards']
const params = Type.Object({ publicToken: Type.String() })

const TimelineQuerySchema = Type.Object(
  {
    ...pages.pageMembers,
    kind: Type.Optional(
      Type.Enum([...timelineKinds], { description: 'Only entries of this kind.' }),
    ),
  },
  closed,
)

/** Searches the cards of all clients by data that a caller on the telephone knows. */
export function searchCardsRoute({ app, cards, metrics }: PrivateApi): void {
  const panSearches = new Counter({
    name: 'pinfold_pan_searches_total',
    help: 'Searches of operators by a full card number, by their result.',
    labelNames: ['result'],
    registers: [metrics.registry],
  })
  /** Counts and records refused searches by card number. */
  async function recordRefusal(request: FastifyRequest, problem: Problem): Promise<void> {
    const { body } = request
    if (typeof body !== 'object' || body === null || !('pan' in body)) return
    const outcome = problem.status < 500 ? 'refused' : 'failed'
    panSearches.inc({ result: outcome })
    await cards.refusedDisclosures.record(
      {
        clientId: requireCaller(request).clientId,
        publicToken: null,
        act: 'pan.searched',
        includesPin: false,
        device: null,
        outcome,
        reason: problem.code,
      },
      request.id,
    )
  }
  app.post(
    '/cards/search',
    {
      config: {
        ...support,
        notRepeatable: 'It has no effect.',
        bodyRequired: true,
        problems: ['rate_limited'],
        beforeProblem: recordRefusal,
        bodyRules: [
          requireExactlyOne(
            'publicToken',
            'pan',
            'panLastFour',
            'customerReference',
            'authorizationReference',
            'paymentId',
            'networkTransactionId',
          ),
        ],
      },
      schema: {
        operationId: 'searchCards',
        summary: 'Search cards of all clients',
        description:
          'Newest first. The criteria are in the body, so that no URL contains a card number. ' +
          'Send the same body to the `Link` of a page. A search by `pan` also needs the scope ' +
          '`support.pan`; each is recorded, with or without a result, and limited.',
        tags,
        querystring: pages.PageQuerySchema,
        body: cardSchemas.SearchCardsSchema,
        response: { 200: Type.Array(cardSchemas.FoundCardSchema) },
      },
    },
    async (request, reply) => {
      const { cursor, limit } = request.query
      if (request.body.pan !== undefined) {
        requireScope(requireCaller(request), 'support.pan')
        const pan = parsePan(request.body.pan)
        // A value that cannot be a card number is not searched for.
        if (!pan) return []
        const operator = { operatorId: requireCaller(request).clientId, requestId: request.id }
        const ofPan = await searchByPan(cards, operator, pan)
        panSearches.inc({ result: ofPan.length > 0 ? 'hit' : 'miss' })
        return ofPan
      }
      const search = parseSearch(request.body, cursor)
      if (!search) return []
      const pageSize = pages.parseLimit(limit)
      const found = await searchAllCards(cards, search, pageSize + 1)
      return pages.cutPage(request, reply, found, {
        limit: pageSize,
        toPosition: ({ authorization, createdAt, payment, publicToken }) => {
          if (payment) return [publicToken, payment.paymentId]
          return authorization ? [authorization.authorizationId] : [createdAt, publicToken]
        },
      })
    },
  )
}

type SearchBody = Partial<
  Record<
    | 'publicToken'
    | 'panLastFour'
    | 'customerReference'
    | 'authorizationReference'
    | 'paymentId'
    | 'networkTransactionId',
    string
  >
>

/**
 * Parses the search criterion; null if no card can match it. The route's rule ensures that one
 * member is given.
 */
function parseSearch(
  {
    authorizationReference,
    customerReference,
    networkTransactionId,
    panLastFour,
    paymentId,
    publicToken,
  }: SearchBody,
  cursor: string | undefined,
): CardSearch | null {
  if (authorizationReference !== undefined) {
    const before = pages.readCursor(cursor, ([id]) => (isUuid(id) ? id : null))
    return { authorizationReference, before }
  }
  if (paymentId !== undefined) return isUuid(paymentId) ? { paymentId } : null
  if (networkTransactionId !== undefined) {
    const after = pages.readCursor(cursor, ([token, id]) =>
      isPublicToken(token) && isUuid(id) ? { publicToken: token, paymentId: id } : null,
    )
    return { networkTransactionId, after }
  }
  const after = pages.readCursor(cursor, ([at, token]) => {
    const createdAt = pages.parseInstant(at)
    return createdAt !== null && isPublicToken(token) ? { createdAt, publicToken: token } : null
  })
  if (panLastFour !== undefined) return { panLastFour, after }
  if (customerReference !== undefined) return { customerReference, after }
  return isPublicToken(publicToken) ? { publicToken } : null
}

/** Routes for a card of any client, its chip, its line and its timeline. */
export function cardRoutes({ app, cards }: PrivateApi): void {
  app.get(
    '/cards/:publicToken',
    {
      config: support,
      schema: {
        operationId: 'readCardOfAnyClient',
        summary: 'Read a card of any client',
        description: 'The status with its reason, the tries and the limits, without personal data.',
        tags,
        params,
        response: { 200: cardSchemas.SupportedCardSchema },
      },
    },
    async (request) => {
      const { limits, ...card } = await findSupportedCard(cards, parsePublicToken(request))
      return { ...card, limits: [...limits] }
    },
  )
  app.get(
    '/cards/:publicToken/chip',
    {
      config: { ...support, problems: ['card_without_chip'] },
      schema: {
        operationId: 'readChipOfAnyClient',
        summary: 'Read the chip of a card',
        description: 'The chips that were online, and the 50 newest commands, newest first.',
        tags,
        params,
        response: { 200: CardChipSchema },
      },
    },
    async (request) => {
      const { chips, chipUpdate, commands } = await findChipsOfAnyClient(
        cards,
        parsePublicToken(request),
      )
      return { chipUpdate, chips: [...chips], commands: [...commands] }
    },
  )
  app.get(
    '/cards/:publicToken/history',
    {
      config: support,
      schema: {
        operationId: 'listCardHistoryOfAnyClient',
        summary: 'List the history of a card',
        description:
          'The line of the card: the cards that replaced each other, newest first, each with its ' +
          'plastics.',
        tags,
        params,
        querystring: pages.PageQuerySchema,
        response: { 200: Type.Array(CardOfHistorySchema) },
      },
    },
    async (request, reply) => {
      const { cursor, limit } = request.query
      const page = await listHistoryOfAnyClient(cards, parsePublicToken(request), {
        before: pages.readCursor(cursor, ([before]) => (isPositiveInteger(before) ? before : null)),
        limit: pages.parseLimit(limit),
      })
      if (page.next !== null) {
        pages.linkNext(request, reply, { cursor: pages.writeCursor([page.next]) })
      }
      return [...page.cards]
    },
  )
  app.get(
    '/cards/:publicToken/timeline',
    {
      config: support,
      schema: {
        operationId: 'listCardTimeline',
        summary: 'List the timeline of a card',
        description:
          'Changes with their deliveries, disclosures, tries and authorizations in one list, ' +
          'newest first. With `kind`, a page may be short although another one follows.',
        tags,
        params,
        querystring: TimelineQuerySchema,
        response: { 200: Type.Array(cardSchemas.TimelineEntrySchema) },
      },
    },
    async (request, reply) => {
      const { cursor, kind = null, limit } = request.query
      const { entries, next } = await listTimeline(cards, parsePublicToken(request), {
        after: pages.readCursor(cursor, parseTimelinePosition),
        kind,
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
