import Type from 'typebox'
import { isPositiveInteger } from '../../../domain/identifiers.ts'
import { Problem } from '../../../domain/problem.ts'
import type { Product, ProductDraft } from '../../../domain/product.ts'
import type { ClientOperations } from '../../../operations/clients/clients.ts'

import {
  changeProduct,
  createProduct,
  getProduct,
  listAllProducts,
  type ProposedProduct,
  setGrant,
} from '../../../operations/clients/products.ts'
import { pageOf, parseLimit, readCursor } from '../../http/pages.ts'
import { answerOf, noContent, repeatable } from '../../http/repeatable.ts'
import type { Server } from '../../http/server.ts'
import { shapeFaults } from '../../http/validation.ts'
import { EmptyObjectSchema } from '../schemas/clients.ts'
import {
  AdministeredProductSchema,
  admin,
  adminChange,
  ChangeProductSchema,
  CreateProductSchema,
  PageQuerySchema,
} from '../schemas/products.ts'
import { operatorOf } from './audit.ts'
import { clientIdOf } from './clients.ts'

const tags = ['Products']
const params = Type.Object({ productId: Type.String() })

/** The card products of this installation, whoever they are granted to. */
export function administeredProductRoutes(
  app: Server['app'],
  administration: ClientOperations,
): void {
  readingRoutes(app, administration)
  createRoute(app, administration)
  changeRoute(app, administration)
}

function readingRoutes(app: Server['app'], administration: ClientOperations): void {
  app.get(
    '/products',
    {
      config: admin,
      schema: {
        operationId: 'listAllProducts',
        summary: 'List products',
        tags,
        querystring: PageQuerySchema,
        response: { 200: Type.Array(AdministeredProductSchema) },
      },
    },
    async (request, reply) => {
      const { cursor, limit } = request.query
      const pageSize = parseLimit(limit)
      const after = readCursor(cursor, ([id]) => (isPositiveInteger(id) ? id : null)) ?? 0
      const products = await listAllProducts(administration, after, pageSize + 1)
      return pageOf(request, reply, products, pageSize, (last) => [last.productId]).map(told)
    },
  )
  app.get(
    '/products/:productId',
    {
      config: admin,
      schema: {
        operationId: 'findProduct',
        summary: 'Read a product',
        tags,
        params,
        response: { 200: AdministeredProductSchema },
      },
    },
    async (request) => told(await getProduct(administration, productIdOf(request.params))),
  )
}

function createRoute(app: Server['app'], administration: ClientOperations): void {
  app.post(
    '/products',
    {
      config: adminChange,
      // What the schema finds is told together with what the rules find.
      attachValidation: true,
      schema: {
        operationId: 'createProduct',
        summary: 'Create a product',
        tags,
        body: CreateProductSchema,
        response: { 201: AdministeredProductSchema },
      },
    },
    async (request, reply) => {
      const asked = askedOf(request.body, shapeFaults(request))
      const answer = await createProduct(
        administration,
        operatorOf(request),
        asked,
        repeatable(request),
      )
      const product = told(answerOf(reply, answer))
      return reply.code(201).header('location', `/products/${product.productId}`).send(product)
    },
  )
}

function changeRoute(app: Server['app'], administration: ClientOperations): void {
  app.patch(
    '/products/:productId',
    {
      config: adminChange,
      attachValidation: true,
      schema: {
        operationId: 'changeProduct',
        summary: 'Change a product',
        description: 'What is left out stays. `active` false retires it.',
        tags,
        params,
        body: ChangeProductSchema,
        response: { 200: AdministeredProductSchema },
      },
    },
    async (request, reply) => {
      const answer = await changeProduct(
        administration,
        operatorOf(request),
        {
          productId: productIdOf(request.params),
          ...askedOf(request.body, shapeFaults(request)),
        },
        repeatable(request),
      )
      return told(answerOf(reply, answer))
    },
  )
}

const told = (product: Product) => ({ ...product, cardTypes: [...product.cardTypes] })

const askedOf = (body: object, faults: ProposedProduct['shapeFaults']): ProposedProduct => ({
  draft: body as ProductDraft,
  shapeFaults: faults,
})

/** The product that a path names. @throws `Problem` `not_found` when it can be no product's id. */
function productIdOf({ productId }: { readonly productId: string }): number {
  const number = /^[1-9][0-9]{0,9}$/.test(productId) ? Number(productId) : 0
  if (!isPositiveInteger(number)) throw new Problem('not_found')
  return number
}

const methods = [
  { method: 'PUT', isGranted: true, operationId: 'grantProduct', summary: 'Grant a product' },
  { method: 'DELETE', isGranted: false, operationId: 'revokeProduct', summary: 'Revoke a product' },
] as const

/** Which products a client system may issue cards of, one at a time. */
export function grantRoutes(app: Server['app'], administration: ClientOperations): void {
  for (const { isGranted, method, operationId, summary } of methods) {
    app.route({
      method,
      url: '/clients/:clientId/products/:productId',
      config: { access: 'admin', repeatable: true },
      schema: {
        operationId,
        summary,
        tags: ['Clients'],
        params: Type.Object({ clientId: Type.String(), productId: Type.String() }),
        ...(isGranted && { body: EmptyObjectSchema }),
        response: { 204: Type.Null() },
      },
      handler: async (request, reply) => {
        const productId = productIdOf(request.params)
        const grant = { clientId: clientIdOf(request), productId, isGranted }
        return noContent(
          reply,
          await setGrant(administration, operatorOf(request), grant, repeatable(request)),
        )
      },
    })
  }
}
