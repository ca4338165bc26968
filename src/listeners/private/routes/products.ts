import Type from 'typebox'
import { isProductId, type ProductId, parseProductId } from '../../../domain/identifiers.ts'
import { Problem } from '../../../domain/problem.ts'
import type { Product, ProductDraft } from '../../../domain/product.ts'
import { backTestProduct } from '../../../operations/authorizations/back-test.ts'
import * as productControls from '../../../operations/products/controls.ts'
import * as productOperations from '../../../operations/products/products.ts'
import * as backTests from '../../http/back-test.ts'
import { controlsBodyLimit, limitRules } from '../../http/control-schemas.ts'
import { cutPage, PageQuerySchema, parseLimit, readCursor } from '../../http/pages.ts'
import { markReplay, noContent, repeatable } from '../../http/repeatable.ts'
import { EmptyBodySchema, shapeFaults } from '../../http/validation.ts'
import {
  adminAct,
  adminChange,
  adminOrSupport,
  createRequester,
  type PrivateApi,
  parseClientId,
} from '../api.ts'
import {
  BackTestProductControlsSchema,
  ControlsBackTestSchema,
  ControlsVersionSchema,
  ProductControlsSchema,
  ReplaceProductControlsSchema,
} from '../schemas/controls.ts'
import {
  AdministeredProductSchema,
  ChangeProductSchema,
  CreateProductSchema,
} from '../schemas/products.ts'

const tags = ['Products']
const params = Type.Object({ productId: Type.String() })

/** Routes for the card products of this installation, for all clients. */
export function administeredProductRoutes({ administration, app }: PrivateApi): void {
  app.get(
    '/products',
    {
      config: adminOrSupport,
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
      const after = readCursor(cursor, ([id]) => (isProductId(id) ? id : null))
      const products = await productOperations.listAllProducts(administration, after, pageSize + 1)
      return cutPage(request, reply, products, {
        limit: pageSize,
        toPosition: (last) => [last.productId],
      }).map(productAnswer)
    },
  )
  app.get(
    '/products/:productId',
    {
      config: adminOrSupport,
      schema: {
        operationId: 'findProduct',
        summary: 'Read a product',
        tags,
        params,
        response: { 200: AdministeredProductSchema },
      },
    },
    async (request) =>
      productAnswer(
        await productOperations.findProductRecord(administration, requireProductId(request.params)),
      ),
  )
}

/** Routes for the spending controls of a product, which hold for all its cards. */
export function productControlRoutes({ administration, app }: PrivateApi): void {
  app.get(
    '/products/:productId/controls',
    {
      config: adminOrSupport,
      schema: {
        operationId: 'getProductControls',
        summary: 'Read the spending controls of a product',
        tags,
        params,
        response: { 200: ProductControlsSchema },
      },
    },
    async (request) =>
      productControls.findProductControls(administration, requireProductId(request.params)),
  )
  app.put(
    '/products/:productId/controls',
    {
      bodyLimit: controlsBodyLimit,
      config: {
        ...adminChange,
        bodyRules: limitRules,
        problems: ['controls_version_conflict'],
      },
      schema: {
        operationId: 'replaceProductControls',
        summary: 'Replace the spending controls of a product',
        description:
          'Replaces them whole; an absent member allows everything. They hold for every card of ' +
          'the product from its next authorization on.',
        tags,
        params,
        body: ReplaceProductControlsSchema,
        response: { 200: ControlsVersionSchema },
      },
    },
    async (request, reply) => {
      const { version, ...controls } = request.body
      const productId = requireProductId(request.params)
      const answer = await productControls.replaceProductControls(
        administration,
        createRequester(request),
        { productId, version, controls },
        repeatable(request),
      )
      return markReplay(reply, answer)
    },
  )
}

/** A draft of a product's controls decides recorded authorizations again. */
export function backTestProductRoute({ administration, app }: PrivateApi): void {
  app.post(
    '/products/:productId/controls/back-test',
    {
      bodyLimit: controlsBodyLimit,
      config: {
        ...adminOrSupport,
        notRepeatable: 'it changes nothing',
        bodyRequired: true,
        bodyRules: limitRules,
        lists: true,
      },
      schema: {
        operationId: 'backTestProductControls',
        summary: "Back-test a draft of a product's spending controls",
        description:
          'Decides the recorded authorizations of all cards of the product again, as if the ' +
          "draft had been in force instead of the product's controls, beside the present " +
          'controls of each card. Nothing is spent or recorded. Takes up to some seconds; one ' +
          'back-test runs at a time.',
        tags,
        params,
        body: BackTestProductControlsSchema,
        response: { 200: ControlsBackTestSchema },
      },
    },
    async (request, reply) => {
      const { from, to, ...controls } = request.body
      const result = await backTestProduct(
        administration,
        requireProductId(request.params),
        { ...backTests.toPeriod({ from, to }), controls },
        { gone: backTests.watchCaller(reply) },
      )
      return backTests.toBackTestAnswer(result)
    },
  )
}

export function createProductRoute({ administration, app }: PrivateApi): void {
  app.post(
    '/products',
    {
      config: adminChange,
      // The faults of the schema and of the rules are reported together.
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
      const asked = { draft: request.body as ProductDraft, shapeFaults: shapeFaults(request) }
      const answer = await productOperations.createProduct(
        administration,
        createRequester(request),
        asked,
        repeatable(request),
      )
      const product = productAnswer(markReplay(reply, answer))
      return reply.code(201).header('location', `/products/${product.productId}`).send(product)
    },
  )
}

export function changeProductRoute({ administration, app }: PrivateApi): void {
  app.patch(
    '/products/:productId',
    {
      config: adminChange,
      attachValidation: true,
      schema: {
        operationId: 'changeProduct',
        summary: 'Change a product',
        description: 'Absent members do not change. `active` false retires the product.',
        tags,
        params,
        body: ChangeProductSchema,
        response: { 200: AdministeredProductSchema },
      },
    },
    async (request, reply) => {
      const answer = await productOperations.changeProduct(
        administration,
        createRequester(request),
        {
          productId: requireProductId(request.params),
          draft: request.body as ProductDraft,
          shapeFaults: shapeFaults(request),
        },
        repeatable(request),
      )
      return productAnswer(markReplay(reply, answer))
    },
  )
}

/** Routes that grant a client system the products whose cards it may issue. */
export function grantRoutes({ administration, app }: PrivateApi): void {
  for (const { isGranted, method, operationId, summary } of [
    { method: 'PUT', isGranted: true, operationId: 'grantProduct', summary: 'Grant a product' },
    {
      method: 'DELETE',
      isGranted: false,
      operationId: 'revokeProduct',
      summary: 'Revoke a product',
    },
  ] as const) {
    app.route({
      method,
      url: '/clients/:clientId/products/:productId',
      config: adminAct,
      schema: {
        operationId,
        summary,
        tags: ['Clients'],
        params: Type.Object({ clientId: Type.String(), productId: Type.String() }),
        ...(isGranted && { body: EmptyBodySchema }),
        response: { 204: Type.Null() },
      },
      handler: async (request, reply) => {
        const productId = requireProductId(request.params)
        const grant = { clientId: parseClientId(request), productId, isGranted }
        return noContent(
          reply,
          await productOperations.setGrant(
            administration,
            createRequester(request),
            grant,
            repeatable(request),
          ),
        )
      },
    })
  }
}

const productAnswer = ({ cardTypes, chip, ...product }: Product) => ({
  ...product,
  cardTypes: [...cardTypes],
  chip: chip && { ...chip, keyVersions: { ...chip.keyVersions } },
})

/**
 * Parses the product in a path.
 * @throws `Problem` `not_found` if the text cannot be the id of a product.
 */
function requireProductId(params: { readonly productId: string }): ProductId {
  const productId = parseProductId(params.productId)
  if (productId === null) throw new Problem('not_found', { detail: productOperations.noProduct })
  return productId
}
