import Type from 'typebox'
import type { Api } from '../api.ts'

/** The document that describes this interface, and the way to its reference. */
export function documentRoutes({ app }: Pick<Api, 'app'>): void {
  const config = { access: 'open' } as const
  app.get(
    '/openapi.json',
    { config, schema: { hide: true, response: { 200: Type.Any() } } },
    async () => app.swagger(),
  )
  app.get(
    '/',
    { config, schema: { hide: true, response: { 302: Type.Null() } } },
    async (_, reply) => reply.redirect('/docs'),
  )
}
