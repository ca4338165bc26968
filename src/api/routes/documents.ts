import Type from 'typebox'
import { madeOnce, publishedDocument, sendPublished } from '../../http/published-document.ts'
import type { Api } from '../api.ts'

/** The document that describes this interface, and the way to its reference. */
export function documentRoutes({ app }: Pick<Api, 'app'>): void {
  const config = { access: 'open' } as const
  const openapi = madeOnce(() =>
    publishedDocument('application/json; charset=utf-8', JSON.stringify(app.swagger())),
  )
  app.get(
    '/openapi.json',
    { config, schema: { hide: true, response: { 200: Type.Any() } } },
    async (request, reply) => sendPublished(request, reply, openapi()),
  )
  app.get(
    '/',
    { config, schema: { hide: true, response: { 302: Type.Null() } } },
    async (_, reply) => reply.redirect('/docs'),
  )
}
