import swagger from '@fastify/swagger'
import Type from 'typebox'
import { madeOnce, publishedDocument, sendPublished } from '../published-document.ts'
import type { Server } from '../server.ts'
import { type Description, openapiOptions } from './document.ts'

/** Collects all routes that are added after it for the OpenAPI document. */
export async function describeRoutes(app: Server, described: Description): Promise<void> {
  await app.register(swagger, openapiOptions(described))
}

/** Serves the document that describes this interface. */
export function openapiRoute(app: Server): void {
  // Made once, since the plugin takes half a second for each document.
  const openapi = madeOnce(() =>
    publishedDocument('application/json; charset=utf-8', JSON.stringify(app.swagger())),
  )
  app.get(
    '/openapi.json',
    { config: { access: 'open' }, schema: { hide: true, response: { 200: Type.Any() } } },
    async (request, reply) => sendPublished(request, reply, openapi()),
  )
}
