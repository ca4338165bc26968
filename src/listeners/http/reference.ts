import swagger from '@fastify/swagger'
import swaggerUi from '@fastify/swagger-ui'
import Type from 'typebox'
import { Problem } from '../../domain/problem.ts'
import { type Description, openapiOptions } from './openapi/document.ts'
import * as publishedDocuments from './published-document.ts'
import type { Server } from './server.ts'

/** Nothing from anywhere else, and nothing to anywhere else: the pages work without a network. */
const policy = {
  'default-src': "'none'",
  'script-src': "'self'",
  'style-src': "'self'",
  'img-src': "'self' data:",
  'connect-src': "'self'",
  'base-uri': "'none'",
  'form-action': "'none'",
  'frame-ancestors': "'none'",
}

/**
 * The OpenAPI document of all routes that are added after it, and pages to read and try it at
 * `/docs`.
 */
export async function registerReference(app: Server, described: Description): Promise<void> {
  await app.register(swagger, openapiOptions(described))
  // The plugin would make these anew for whoever asks, which takes it half a second.
  const documents: Readonly<Record<string, () => publishedDocuments.PublishedDocument>> = {
    '/docs/json': publishedDocuments.madeOnce(() => {
      // Pages that are opened by another name than `url` (localhost) call the name they were opened
      // by.
      const text = JSON.stringify(app.swagger()).replaceAll(`"${described.url}/`, '"/')
      const document = { ...JSON.parse(text), servers: [{ url: '/' }] }
      return publishedDocuments.publishedDocument(
        'application/json; charset=utf-8',
        JSON.stringify(document),
      )
    }),
    '/docs/yaml': publishedDocuments.madeOnce(() =>
      publishedDocuments.publishedDocument('application/yaml', app.swagger({ yaml: true })),
    ),
  }
  app.addHook('onRoute', (route) => {
    if (!route.url.startsWith('/docs')) return
    // The pages are open: there is nothing in them that needs a token.
    route.config = { ...route.config, access: 'open' }
    // No file has such a name, and whoever looks for one fails.
    route.onRequest = async ({ url }) => {
      if (url.includes('%00')) throw new Problem('not_found')
    }
    const document = documents[route.url]
    if (!document) return
    route.handler = async (request, reply) =>
      publishedDocuments.sendPublished(request, reply, document())
  })
  await app.register(swaggerUi, {
    routePrefix: '/docs',
    staticCSP: policy,
    theme: { title: described.title },
    // Its validator is a service elsewhere, which would learn of this one.
    uiConfig: { validatorUrl: null, layout: 'BaseLayout', deepLinking: true },
  })
}

/** The document that describes this interface. */
export function documentRoutes(app: Server): void {
  const config = { access: 'open' } as const
  const openapi = publishedDocuments.madeOnce(() =>
    publishedDocuments.publishedDocument(
      'application/json; charset=utf-8',
      JSON.stringify(app.swagger()),
    ),
  )
  app.get(
    '/openapi.json',
    { config, schema: { hide: true, response: { 200: Type.Any() } } },
    async (request, reply) => publishedDocuments.sendPublished(request, reply, openapi()),
  )
}
