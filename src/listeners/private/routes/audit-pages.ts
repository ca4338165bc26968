import type { PrivateApi } from '../api.ts'

/** Mounts the page on this listener. The page shows only what the public tree shows. */
export function auditPagesRoutes({ app, auditPages }: PrivateApi): void {
  for (const url of ['/audit', '/audit/assets/*']) {
    app.get(
      url,
      { config: { access: 'open' }, schema: { hide: true } },
      async ({ headers, url: asked }, reply) => {
        const path = asked.split('?')[0] ?? asked
        const answer = await auditPages.answer({ method: 'GET', path, headers, body: '' })
        return reply.code(answer.status).headers(answer.headers).send(answer.body)
      },
    )
  }
}
