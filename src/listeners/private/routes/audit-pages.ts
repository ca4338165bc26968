import type { PrivateApi } from '../api.ts'

/** The page that shows the audit log's tree, with its style and its scripts. */
export interface AuditPages {
  answer(request: {
    readonly method: string
    readonly path: string
    readonly headers: object
    readonly body: string
  }): Promise<{
    readonly status: number
    readonly headers: Readonly<Record<string, string>>
    readonly body: string
  }>
}

/** Mounts the page on this listener. It shows nothing that the tree does not show to anybody. */
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
