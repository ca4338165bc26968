import Type from 'typebox'
import { parseExpiry } from '../../../domain/calendar.ts'
import { isPositiveInteger, isPublicToken } from '../../../domain/identifiers.ts'
import { parseCardType } from '../../../domain/product.ts'
import { type CardPosition, getCard, listCards } from '../../../operations/cards/cards.ts'
import { createCard, type NewCard } from '../../../operations/cards/create-card.ts'
import { changeCardStatus, readCardStatus } from '../../../operations/cards/status.ts'
import { type AttemptPosition, listAttempts } from '../../../operations/cards/tries.ts'
import { nextLink, parseInstant, parseLimit, readCursor, writeCursor } from '../../http/pages.ts'
import { answerOf, noContent, repeatable } from '../../http/repeatable.ts'
import type { BodyRule } from '../../http/request.ts'
import {
  AttemptSchema,
  CardParamsSchema,
  CardSchema,
  CardStatusSchema,
  ChangeCardStatusSchema,
  type CreateCardBody,
  CreateCardSchema,
  CreatedCardSchema,
  ListCardsQuerySchema,
  NoContentSchema,
  PageQuerySchema,
} from '../schemas/cards.ts'
import { type Api, actingOf, publicTokenOf } from '../server.ts'

export function cardRoutes(api: Api): void {
  createCardRoute(api)
  findCardRoute(api)
  listCardsRoute(api)
}

function createCardRoute({ app, base, issuing }: Api): void {
  app.post(
    `${base}/cards`,
    {
      config: {
        access: 'cards.write',
        repeatable: true,
        bodyRequired: true,
        bodyRules: [deliveredOnlyIfPhysical],
        problems: ['product_not_available'],
      },
      schema: {
        operationId: 'createCard',
        summary: 'Create Card',
        description: 'Creates a card of a product from the list, with a random PIN.',
        tags: ['Cards'],
        body: CreateCardSchema,
        response: { 201: CreatedCardSchema },
      },
    },
    async (request, reply) => {
      const answer = await createCard(
        issuing,
        actingOf(request),
        newCardOf(request.body),
        repeatable(request),
      )
      const card = answerOf(reply, answer)
      return reply.code(201).header('location', `${base}/cards/${card.publicToken}`).send(card)
    },
  )
}

/** A delivery address is for a card that is delivered. */
const deliveredOnlyIfPhysical: BodyRule = ({ cardType, fulfilment }) =>
  fulfilment !== undefined && parseCardType(String(cardType)) === 'Virtual'
    ? { pointer: '/fulfilment', detail: 'is for Physical cards only' }
    : null

function newCardOf({ cardType: typeName, expiryDate, ...members }: CreateCardBody): NewCard {
  const cardType = parseCardType(typeName)
  if (cardType === null) throw new Error('The schema let an unknown card type pass.')
  const expiry = expiryDate === undefined ? null : parseExpiry(expiryDate)
  return { ...members, cardType, ...(expiry && { expiry }) }
}

function findCardRoute({ app, base, issuing }: Api): void {
  app.get(
    `${base}/cards/:publicToken`,
    {
      config: { access: 'cards.read' },
      schema: {
        operationId: 'findCard',
        summary: 'Read a card',
        tags: ['Cards'],
        params: CardParamsSchema,
        response: { 200: CardSchema },
      },
    },
    async (request) => getCard(issuing, actingOf(request), publicTokenOf(request)),
  )
}

function listCardsRoute({ app, base, issuing }: Api): void {
  app.get(
    `${base}/cards`,
    {
      config: { access: 'cards.read', lists: true },
      schema: {
        operationId: 'listCards',
        summary: 'List cards',
        description: "The client's cards, newest first.",
        tags: ['Cards'],
        querystring: ListCardsQuerySchema,
        response: { 200: Type.Array(CardSchema) },
      },
    },
    async (request, reply) => {
      const { cardStatusCode, cursor, customerReference, limit } = request.query
      const { cards, next } = await listCards(issuing, actingOf(request), {
        customerReference: customerReference ?? null,
        statusCode: cardStatusCode ?? null,
        after: readCursor(cursor, parsePosition),
        limit: parseLimit(limit),
      })
      if (next) {
        const { createdAt, publicToken } = next
        reply.header('link', nextLink(request.url, writeCursor([createdAt, publicToken])))
      }
      return [...cards]
    },
  )
}

function parsePosition([at, publicToken]: readonly unknown[]): CardPosition | null {
  const createdAt = parseInstant(at)
  return createdAt !== null && isPublicToken(publicToken) ? { createdAt, publicToken } : null
}

export function cardStatusRoutes({ app, base, issuing }: Api): void {
  app.get(
    `${base}/cards/:publicToken/status`,
    {
      config: { access: 'cards.read' },
      schema: {
        operationId: 'getCardStatus',
        summary: "Read a card's status",
        tags: ['Cards'],
        params: CardParamsSchema,
        response: { 200: CardStatusSchema },
      },
    },
    async (request) => readCardStatus(issuing, actingOf(request), publicTokenOf(request)),
  )

  app.put(
    `${base}/cards/:publicToken/status`,
    {
      config: {
        access: 'cards.write',
        repeatable: true,
        bodyRequired: true,
        problems: ['card_status_conflict'],
      },
      schema: {
        operationId: 'changeCardStatus',
        summary: "Change a card's status",
        description: 'Setting the status that the card has changes nothing.',
        tags: ['Cards'],
        params: CardParamsSchema,
        body: ChangeCardStatusSchema,
        response: { 204: NoContentSchema },
      },
    },
    async (request, reply) => {
      const { cardStatusCode, ...note } = request.body
      const answer = await changeCardStatus(
        issuing,
        actingOf(request),
        { publicToken: publicTokenOf(request), to: cardStatusCode, note },
        repeatable(request),
      )
      return noContent(reply, answer)
    },
  )
}

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
      const after = readCursor(cursor, parseAttemptPosition)
      const publicToken = publicTokenOf(request)
      const filter = { publicToken, after, limit: parseLimit(limit) }
      const page = await listAttempts(issuing, actingOf(request), filter)
      if (page.next) {
        const { at, kind, tryNumber } = page.next
        reply.header('link', nextLink(request.url, writeCursor([at, kind, tryNumber])))
      }
      return page.attempts.map(({ at, ...attempt }) => ({ ...attempt, at: at.toISOString() }))
    },
  )
}

function parseAttemptPosition([at, kind, tryNumber]: readonly unknown[]): AttemptPosition | null {
  const instant = parseInstant(at)
  if (instant === null || (kind !== 'pin' && kind !== 'cvv')) return null
  return isPositiveInteger(tryNumber) ? { at: instant, kind, tryNumber } : null
}
