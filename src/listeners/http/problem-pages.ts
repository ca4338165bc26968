import { createHash } from 'node:crypto'
import Type from 'typebox'
import { Problem } from '../../domain/problem.ts'
import { type ProblemKind, problemKinds } from '../../domain/problem-kinds.ts'
import { publishedDocument, sendPublished } from './published-document.ts'
import type { Server } from './server.ts'

const style = `body{font:1rem/1.5 system-ui,sans-serif;max-width:42rem;margin:3rem auto;
padding:0 1rem;color:#1b1f24;background:#fff}
code{background:#f0f2f4;padding:.1em .3em;border-radius:3px}
a{color:#0b5cad}@media(prefers-color-scheme:dark){body{color:#e6e8ea;background:#16191d}
code{background:#262b31}a{color:#7ab8ff}}`

const policy = `default-src 'none'; style-src 'sha256-${createHash('sha256')
  .update(style)
  .digest('base64')}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`

const mediaType = 'text/html; charset=utf-8'

const pages = new Map(
  Object.entries<ProblemKind>(problemKinds).map(([code, { explanation, status, title }]) => {
    const escaped = explanation.replaceAll('&', '&amp;').replaceAll('<', '&lt;')
    const body = `<p><code>${code}</code>, status ${status}</p>
      <p>${escaped}</p>
      <p><a href="/problems">All problems</a></p>`
    return [code, publishedDocument(mediaType, page(title, body))]
  }),
)
const index = publishedDocument(
  mediaType,
  page(
    'Problems',
    `<p>Every failure of this service, by its <code>code</code>.</p><ul>
      ${Object.entries(problemKinds)
        .map(([code, { status, title }]) => {
          const link = `<a href="/problems/${code}"><code>${code}</code></a>`
          return `<li>${link} (${status}): ${title}</li>`
        })
        .join('')}</ul>`,
  ),
)

/**
 * Serves the pages for the `type` of problem documents. The `type` is a path, so the page is on the
 * listener that answered, under any of its names.
 */
export function problemRoutes(app: Server): void {
  const schema = { hide: true, response: { 200: Type.Any() } }
  app.get('/problems', { config: { access: 'open' }, schema }, async (request, reply) =>
    sendPublished(request, reply.header('content-security-policy', policy), index),
  )
  app.get(
    '/problems/:code',
    {
      config: { access: 'open' },
      schema: { ...schema, params: Type.Object({ code: Type.String() }) },
    },
    async (request, reply) => {
      const found = pages.get(request.params.code)
      if (!found) throw new Problem('not_found')
      return sendPublished(request, reply.header('content-security-policy', policy), found)
    },
  )
}

/** Composes a page from the table of failures, without any part of the request. */
function page(title: string, body: string): string {
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>${title}</title>
<meta name="viewport" content="width=device-width"><style>${style}</style></head>
<body><h1>${title}</h1>${body}</body></html>`
}
