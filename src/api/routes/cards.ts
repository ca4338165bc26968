import Type from 'typebox'
import { isCalendarDate } from '../../domain/calendar.ts'
import { parseExpiry } from '../../domain/expiry.ts'
import { parseCardType } from '../../domain/product.ts'
import { validationFailed } from '../../errors.ts'
import { nextLink, parseLimit, readCursor, writeCursor } from '../../http/cursor.ts'
import { createCard, type NewCard } from '../../issuing/create-card.ts'
import { findCard } from '../../issuing/find-card.ts'
import { type CardPosition, listCards } from '../../issuing/list-cards.ts'
import { type Api, answerOf, callerOf, publicTokenOf, repeatable } from '../api.ts'
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
      config: { access: 'cards.write', repeatable: true, bodyRequired: true },
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

/** @throws `Problem` `validation_failed` for a delivery address of a card that is not delivered. */
function newCardOf({ cardType: typeName, expiryDate, ...members }: CreateCardBody): NewCard {
  const cardType = parseCardType(typeName)
  if (cardType === null) throw new Error('The schema let an unknown card type pass.')
  if (members.fulfilment && cardType !== 'Physical') {
    throw validationFailed({ pointer: '/fulfilment', detail: 'is for Physical cards only' })
  }
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
      config: { access: 'cards.read' },
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

const instant = /^(\d{4}-\d{2}-\d{2})T([01]\d|2[0-3]):[0-5]\d:[0-5]\d\.\d{6}Z$/

function parsePosition([createdAt, publicToken]: readonly unknown[]): CardPosition | null {
  if (typeof createdAt !== 'string' || typeof publicToken !== 'string') return null
  const isPosition =
    isCalendarDate(instant.exec(createdAt)?.[1] ?? '') && /^[0-9]{10}$/.test(publicToken)
  return isPosition ? { createdAt, publicToken } : null
}
