import Type from 'typebox'
import { isPositiveInteger } from '../../../domain/identifiers.ts'
import { parseCardType } from '../../../domain/product.ts'
import { listProducts } from '../../../operations/clients/products.ts'
import { nextLink, parseLimit, readCursor, writeCursor } from '../../http/pages.ts'
import { ListProductsQuerySchema, ProductSchema } from '../schemas/cards.ts'
import { type Api, actingOf } from '../server.ts'

export function productRoutes({ app, base, issuing }: Api): void {
  app.get(
    `${base}/products`,
    {
      config: { access: 'cards.read', lists: true },
      schema: {
        operationId: 'listProducts',
        summary: 'List Products',
        description: 'The active products granted to the client, by `productId`.',
        tags: ['Products'],
        querystring: ListProductsQuerySchema,
        response: { 200: Type.Array(ProductSchema) },
      },
    },
    async (request, reply) => {
      const { cardType, currencyCode, cursor, limit } = request.query
      const pageSize = parseLimit(limit)
      const products = await listProducts(issuing, actingOf(request), {
        cardType: cardType === undefined ? null : parseCardType(cardType),
        currencyCode: currencyCode ?? null,
        afterProductId: readCursor(cursor, parsePosition) ?? 0,
        // One more than asked for tells whether there is a next page.
        limit: pageSize + 1,
      })
      const page = products.slice(0, pageSize)
      const last = products.length > pageSize ? page.at(-1) : undefined
      if (last) reply.header('link', nextLink(request.url, writeCursor([last.productId])))
      return page.map((product) => ({ ...product, cardTypes: [...product.cardTypes] }))
    },
  )
}

const parsePosition = ([productId]: readonly unknown[]): number | null =>
  isPositiveInteger(productId) ? productId : null
