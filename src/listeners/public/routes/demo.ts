import type { IncomingHttpHeaders } from 'node:http'
import { plainInstance } from '../../http/server.ts'
import type { PublicApi } from '../api.ts'

/**
 * The cardholder's pages and the client system behind them, which calls this service like any
 * other.
 */
export interface DemoSite {
  answer(request: {
    readonly method: string
    readonly path: string
    readonly headers: IncomingHttpHeaders
    readonly body: string
  }): Promise<{
    readonly status: number
    readonly headers: Readonly<Record<string, string>>
    readonly body: string
  }>
}

/** Mounts the demo on this listener, in a sandbox only. */
export function demoRoutes({ app }: Pick<PublicApi, 'app'>, site: DemoSite): void {
  // A separate scope, because the demo reads its own bodies.
  app.register(async (scope) => {
    const mounted = plainInstance(scope)
    mounted.removeAllContentTypeParsers()
    mounted.addContentTypeParser(
      '*',
      { parseAs: 'buffer' },
      async (_: unknown, body: Buffer) => body,
    )
    for (const url of ['/demo', '/demo/*']) {
      mounted.route<{ Body: Buffer | undefined }>({
        method: ['GET', 'POST'],
        url,
        config: { access: 'open', notRepeatable: 'pages, which send no key' },
        schema: { hide: true },
        handler: async ({ body, headers, method, url: asked }, reply) => {
          const answer = await site.answer({
            method: method === 'HEAD' ? 'GET' : method,
            path: asked.split('?')[0] ?? asked,
            headers,
            body: body?.toString('utf8') ?? '',
          })
          return reply.code(answer.status).headers(answer.headers).send(Buffer.from(answer.body))
        },
      })
    }
  })
}
