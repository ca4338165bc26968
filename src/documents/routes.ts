import { Problem } from '../domain/problem.ts'
import { pageHeaders } from '../listeners/http/page-headers.ts'
import { sendPublished } from '../listeners/http/published-document.ts'
import type { Server } from '../listeners/http/server.ts'
import type { Site } from './site.ts'

/** Puts the documents on a listener, where they need no token. */
export function documentRoutes(app: Server, readSite: () => Promise<Site>): void {
  const route = { config: { access: 'open' }, schema: { hide: true } } as const
  app.get('/docs/search', route, async (request, reply) => {
    const query = new URLSearchParams(request.url.split('?')[1])
    const results = (await readSite()).search(query.get('text') ?? '')
    return sendPublished(request, reply.headers(pageHeaders), results)
  })
  for (const url of ['/docs', '/docs/*']) {
    app.get(url, route, async (request, reply) => {
      const [address = ''] = request.url.split('?')
      const found = await (await readSite()).find(address)
      if (!found) throw new Problem('not_found')
      return sendPublished(request, reply.headers(pageHeaders), found)
    })
  }
}
