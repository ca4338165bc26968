import Type from 'typebox'
import { isProductId } from '../../../domain/identifiers.ts'
import { parseCardType } from '../../../domain/product.ts'
import { listProducts } from '../../../operations/products/products.ts'
import { cutPage, parseLimit, readCursor } from '../../http/pages.ts'
import { createRequester, type PublicApi } from '../api.ts'
import { ListProductsQuerySchema, ProductSchema } from '../schemas/products.ts'

export function listProductsRoute({ app, base, issuing }: PublicApi): void {
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
      const products = await listProducts(issuing, createRequester(request), {
        cardType: cardType === undefined ? null : parseCardType(cardType),
        currencyCode: currencyCode ?? null,
        afterProductId: readCursor(cursor, ([id]) => (isProductId(id) ? id : null)),
        limit: pageSize + 1,
      })
      const page = cutPage(request, reply, products, {
        limit: pageSize,
        toPosition: (last) => [last.productId],
      })
      return page.map((product) => ({
        ...product,
        cardTypes: [...product.cardTypes],
        renewalNoticeDays: [...product.renewalNoticeDays],
      }))
    },
  )
}
