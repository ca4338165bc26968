import Type, { type Static } from 'typebox'
import { parseExpiry } from '../../../domain/calendar.ts'
import { metadataFault } from '../../../domain/free-text.ts'
import { isPositiveInteger, isPublicToken, makeProductId } from '../../../domain/identifiers.ts'
import { parameterFault, validationFailed } from '../../../domain/problem.ts'
import { parseCardType } from '../../../domain/product.ts'
import { type CardKind, findCard, listCards } from '../../../operations/cards/cards.ts'
import { createCard } from '../../../operations/cards/create-card.ts'
import { listHistory } from '../../../operations/cards/history.ts'
import { changeCardRecord } from '../../../operations/cards/record-changes.ts'
import { changeCardStatus, findCardStatus } from '../../../operations/cards/status.ts'
import { type AttemptPosition, listAttempts } from '../../../operations/cards/tries.ts'
import { CardOfHistorySchema } from '../../http/card-history-members.ts'
import * as pages from '../../http/pages.ts'
import { requirePostalCode } from '../../http/postal-address.ts'
import { markReplay, noContent, repeatable } from '../../http/repeatable.ts'
import type { BodyRule } from '../../http/request.ts'
import { createRequester, type PublicApi, parsePublicToken } from '../api.ts'
import * as cardSchemas from '../schemas/cards.ts'

export function createCardRoute({ app, base, issuing }: PublicApi): void {
  app.post(
    `${base}/cards`,
    {
      config: {
        access: 'cards.write',
        repeatable: true,
        bodyRequired: true,
        bodyRules: [
          requirePostalCode('address'),
          requirePostalCode('fulfilment'),
          refusePanInMetadata,
          ({ cardType, fulfilment }) =>
            fulfilment !== undefined && parseCardType(String(cardType)) === 'Virtual'
              ? { pointer: '/fulfilment', detail: 'is for Physical cards only' }
              : null,
        ],
        problems: ['product_not_available'],
      },
      schema: {
        operationId: 'createCard',
        summary: 'Create Card',
        description: 'Creates a card of a product from the list, with a random PIN.',
        tags: ['Cards'],
        body: cardSchemas.CreateCardSchema,
        response: { 201: cardSchemas.CreatedCardSchema },
      },
    },
    async (request, reply) => {
      const { cardType: typeName, expiryDate, ...members } = request.body
      const cardType = parseCardType(typeName)
      if (cardType === null) throw new Error('The schema accepted an unknown card type.')
      const expiry = expiryDate === undefined ? null : parseExpiry(expiryDate)
      const card = { ...members, cardType, ...(expiry && { expiry }) }
      const answer = await createCard(issuing, createRequester(request), card, repeatable(request))
      const created = markReplay(reply, answer)
      reply.code(201).header('location', `${base}/cards/${created.publicToken}`)
      return created
    },
  )
}

export function findCardRoute({ app, base, issuing }: PublicApi): void {
  app.get(
    `${base}/cards/:publicToken`,
    {
      config: { access: 'cards.read' },
      schema: {
        operationId: 'findCard',
        summary: 'Read a card',
        tags: ['Cards'],
        params: cardSchemas.CardParamsSchema,
        response: { 200: cardSchemas.CardSchema },
      },
    },
    async (request) => findCard(issuing, createRequester(request), parsePublicToken(request)),
  )
}

export function changeCardRoute({ app, base, issuing }: PublicApi): void {
  app.patch(
    `${base}/cards/:publicToken`,
    {
      config: {
        access: 'cards.write',
        repeatable: true,
        bodyRequired: true,
        bodyRules: [
          requirePostalCode('address'),
          requirePostalCode('fulfilment'),
          refusePanInMetadata,
        ],
      },
      schema: {
        operationId: 'changeCard',
        summary: "Change a card's record",
        description:
          'Changes the given members, in any status of the card. A new name, design or address ' +
          'is for the next plastic.',
        tags: ['Cards'],
        params: cardSchemas.CardParamsSchema,
        body: cardSchemas.ChangeCardSchema,
        response: { 204: cardSchemas.NoContentSchema },
      },
    },
    async (request, reply) => {
      const change = { publicToken: parsePublicToken(request), members: request.body }
      const requester = createRequester(request)
      const answer = await changeCardRecord(issuing, requester, change, repeatable(request))
      return noContent(reply, answer)
    },
  )
}

export function listCardsRoute({ app, base, issuing }: PublicApi): void {
  app.get(
    `${base}/cards`,
    {
      config: { access: 'cards.read', lists: true },
      schema: {
        operationId: 'listCards',
        summary: 'List cards',
        description:
          "The client's cards, newest first. `cardStatusCode` filters all of them or those of a " +
          '`customerReference`, and `cardType` those of a `cardProduct`. Other filters stand ' +
          'alone.',
        tags: ['Cards'],
        querystring: cardSchemas.ListCardsQuerySchema,
        response: { 200: Type.Array(cardSchemas.CardSchema) },
      },
    },
    async (request, reply) => {
      const { cardStatusCode, cursor, customerReference, limit } = request.query
      const { cards, next } = await listCards(issuing, createRequester(request), {
        kind: parseKind(request.query),
        customerReference: customerReference ?? null,
        statusCode: cardStatusCode ?? null,
        after: pages.readCursor(cursor, ([at, publicToken]) => {
          const createdAt = pages.parseInstant(at)
          return createdAt !== null && isPublicToken(publicToken)
            ? { createdAt, publicToken }
            : null
        }),
        limit: pages.parseLimit(limit),
      })
      if (next) {
        const { createdAt, publicToken } = next
        pages.linkNext(request, reply, { cursor: pages.writeCursor([createdAt, publicToken]) })
      }
      return [...cards]
    },
  )
}

/**
 * Parses the filter by a kind of cards; null without one. Each has an index of its own, so that few
 * can be combined.
 * @throws `Problem` `validation_failed` naming a filter that cannot be combined.
 */
function parseKind(query: Static<typeof cardSchemas.ListCardsQuerySchema>): CardKind | null {
  const metadata = Object.entries(query).flatMap(([name, value]) => {
    const [, key] = /^metadata\[(.+)\]$/.exec(name) ?? []
    return key === undefined ? [] : [{ key, value: String(value) }]
  })
  const { cardProduct, cardStatusCode, cardType: type, customerReference, expiringBefore } = query
  const cardType = type === undefined ? null : parseCardType(type)
  const kinds: CardKind[] = [
    ...metadata,
    ...(expiringBefore === undefined ? [] : [{ expiringBefore }]),
    ...(cardProduct === undefined
      ? []
      : [{ productId: makeProductId(Number(cardProduct)), cardType }]),
    ...(cardProduct === undefined && cardType !== null ? [{ cardType }] : []),
  ]
  const [kind = null] = kinds
  const isAlone = customerReference === undefined && cardStatusCode === undefined
  if (kind === null || (kinds.length === 1 && isAlone)) return kind
  const named = ['expiringBefore', 'cardProduct', 'cardType'].find((name) => name in query)
  const detail =
    'cannot be combined with the other filters. cardType and cardProduct can be combined, and so ' +
    'can customerReference and cardStatusCode'
  throw validationFailed(parameterFault(metadata.length > 0 ? 'metadata' : (named ?? ''), detail))
}

export function cardStatusRoutes({ app, base, issuing }: PublicApi): void {
  app.get(
    `${base}/cards/:publicToken/status`,
    {
      config: { access: 'cards.read' },
      schema: {
        operationId: 'getCardStatus',
        summary: "Read a card's status",
        tags: ['Cards'],
        params: cardSchemas.CardParamsSchema,
        response: { 200: cardSchemas.CardStatusSchema },
      },
    },
    async (request) => findCardStatus(issuing, createRequester(request), parsePublicToken(request)),
  )

  app.put(
    `${base}/cards/:publicToken/status`,
    {
      config: {
        access: 'cards.write',
        repeatable: true,
        bodyRequired: true,
        problems: ['card_status_conflict', 'nothing_to_migrate'],
      },
      schema: {
        operationId: 'changeCardStatus',
        summary: "Change a card's status",
        description: 'Setting the present status has no effect.',
        tags: ['Cards'],
        params: cardSchemas.CardParamsSchema,
        body: cardSchemas.ChangeCardStatusSchema,
        response: { 204: cardSchemas.NoContentSchema },
      },
    },
    async (request, reply) => {
      const { cardStatusCode, ...note } = request.body
      const answer = await changeCardStatus(
        issuing,
        createRequester(request),
        { publicToken: parsePublicToken(request), to: cardStatusCode, note },
        repeatable(request),
      )
      return noContent(reply, answer)
    },
  )
}

export function listAttemptsRoute({ app, base, issuing }: PublicApi): void {
  app.get(
    `${base}/cards/:publicToken/attempts`,
    {
      config: { access: 'cards.read', lists: true },
      schema: {
        operationId: 'listAttempts',
        summary: "List a card's attempts",
        description: 'Every spent PIN and CVV try, newest first, without the tried values.',
        tags: ['Cards'],
        params: cardSchemas.CardParamsSchema,
        querystring: pages.PageQuerySchema,
        response: { 200: Type.Array(cardSchemas.AttemptSchema) },
      },
    },
    async (request, reply) => {
      const { cursor, limit } = request.query
      const after = pages.readCursor(cursor, ([pin, cvv]): AttemptPosition | null =>
        isPositiveInteger(pin) && isPositiveInteger(cvv) ? { pin, cvv } : null,
      )
      const publicToken = parsePublicToken(request)
      const page = await listAttempts(issuing, createRequester(request), {
        publicToken,
        after,
        limit: pages.parseLimit(limit),
      })
      if (page.next) {
        const { cvv, pin } = page.next
        pages.linkNext(request, reply, { cursor: pages.writeCursor([pin, cvv]) })
      }
      return page.attempts.map(({ at, ...attempt }) => ({ ...attempt, at: at.toISOString() }))
    },
  )
}

export function listHistoryRoute({ app, base, issuing }: PublicApi): void {
  app.get(
    `${base}/cards/:publicToken/history`,
    {
      config: { access: 'cards.read', lists: true },
      schema: {
        operationId: 'listCardHistory',
        summary: "List a card's history",
        description:
          'The line of the card: the cards that replaced each other, newest first, each with its ' +
          'plastics.',
        tags: ['Life of a card'],
        params: cardSchemas.CardParamsSchema,
        querystring: pages.PageQuerySchema,
        response: { 200: Type.Array(CardOfHistorySchema) },
      },
    },
    async (request, reply) => {
      const { cursor, limit } = request.query
      const publicToken = parsePublicToken(request)
      const page = await listHistory(issuing, createRequester(request), publicToken, {
        before: pages.readCursor(cursor, ([before]) => (isPositiveInteger(before) ? before : null)),
        limit: pages.parseLimit(limit),
      })
      if (page.next !== null) {
        pages.linkNext(request, reply, { cursor: pages.writeCursor([page.next]) })
      }
      return [...page.cards]
    },
  )
}

/** Refuses metadata that contain a card number. */
const refusePanInMetadata: BodyRule = ({ metadata }) => {
  // The schema rejects other values.
  if (typeof metadata !== 'object' || metadata === null) return null
  for (const [key, value] of Object.entries(metadata)) {
    const detail = typeof value === 'string' ? metadataFault(key, value) : null
    // The key may hold a part of the number.
    if (detail !== null) return { pointer: '/metadata', detail }
  }
  return null
}
