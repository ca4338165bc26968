import Type from 'typebox'
import { parseExpiry } from '../../domain/expiry.ts'
import { isPublicToken } from '../../domain/identifiers.ts'
import { parseCardType } from '../../domain/product.ts'
import type { BodyRule } from '../../http/body-rules.ts'
import { nextLink, parseInstant, parseLimit, readCursor, writeCursor } from '../../http/cursor.ts'
import { answerOf, repeatable } from '../../http/repeatable.ts'
import { createCard, type NewCard } from '../../issuing/create-card.ts'
import { findCard } from '../../issuing/find-card.ts'
import { type CardPosition, listCards } from '../../issuing/list-cards.ts'
import { type Api, callerOf, publicTokenOf } from '../api.ts'
import {
  CardParamsSchema,
  type CreateCardBody,
  CreateCardSchema,
  ListCardsQuerySchema,
} from '../schemas/requests.ts'
import { CardSchema, CreatedCardSchema } from '../schemas/responses.ts'

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
        callerOf(request),
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
    async (request) => findCard(issuing, callerOf(request), publicTokenOf(request)),
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
      const { cards, next } = await listCards(issuing, callerOf(request), {
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
