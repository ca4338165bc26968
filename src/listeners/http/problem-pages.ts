import Type from 'typebox'
import { Problem } from '../../domain/problem.ts'
import { type ProblemKind, problemKinds } from '../../domain/problem-kinds.ts'
import { type Content, html } from './html.ts'
import { pageHeaders } from './page-headers.ts'
import { type PublishedDocument, publishedDocument, sendPublished } from './published-document.ts'
import type { Server } from './server.ts'
import { siteHeader } from './site-header.ts'

const kinds = Object.entries<ProblemKind>(problemKinds)

const pages: ReadonlyMap<string, PublishedDocument> = new Map(
  kinds.map(([code, { explanation, status, title }]) => [
    code,
    publishPage(
      title,
      html`<p><code>${code}</code>, status ${status}</p>
        <p>${explanation}</p>
        <p><a href="/docs/reference/errors#${code}">Example of the answer</a></p>
        <p><a href="/problems">All problems</a></p>`,
    ),
  ]),
)

const index = publishPage(
  'Problems',
  html`<p>Every failure that this service answers with, by its <code>code</code>.</p>
    <ul>${kinds.map(
      ([code, { status, title }]) =>
        html`<li><a href="/problems/${code}"><code>${code}</code></a> (${status}): ${title}</li>`,
    )}</ul>`,
)

/**
 * Serves the pages for the `type` of problem documents. The `type` is a path, so the page is on the
 * listener that answered, under any of its names.
 */
export function problemRoutes(app: Server): void {
  const schema = { hide: true, response: { 200: Type.Any() } }
  app.get('/problems', { config: { access: 'open' }, schema }, async (request, reply) =>
    sendPublished(request, reply.headers(pageHeaders), index),
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
      return sendPublished(request, reply.headers(pageHeaders), found)
    },
  )
}

/** In the style of the documents. */
function publishPage(title: string, body: Content): PublishedDocument {
  const page = html`<!doctype html>
<html lang="en">
<head>
  <meta charset="utf-8">
  <meta name="viewport" content="width=device-width, initial-scale=1">
  <meta name="color-scheme" content="light dark">
  <title>${title} · Pinfold</title>
  <link rel="icon" href="/docs/assets/icon.svg">
  <link rel="stylesheet" href="/docs/assets/console.css">
  <link rel="stylesheet" href="/docs/assets/documents.css">
</head>
<body class="bare documents">
  ${siteHeader('', '/docs')}
  <main>
    <h1>${title}</h1>
    ${body}
  </main>
</body>
</html>
`
  return publishedDocument('text/html; charset=utf-8', String(page))
}
