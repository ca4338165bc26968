import { type Content, type Html, html } from '../listeners/http/html.ts'
import { siteHeader } from '../listeners/http/site-header.ts'
import type { LinkGroup, RenderedDocument } from './markdown.ts'

/** The frame of a page. */
export interface Frame {
  readonly address: string
  readonly groups: readonly LinkGroup[]
  /** The search text; empty except on a page of search results. */
  readonly searched: string
}

/** The module that each page begins with. In a package it is the script that was made of it. */
const script = 'web/documents/main.ts'

/** Renders a whole page. */
export const layout = (page: RenderedDocument, frame: Frame): Html => html`<!doctype html>
<html lang="en">
<head>
  <meta charset="utf-8">
  <meta name="viewport" content="width=device-width, initial-scale=1">
  <meta name="color-scheme" content="light dark">
  <title>${page.title} · Pinfold</title>
  <link rel="icon" href="/docs/assets/icon.svg">
  <link rel="stylesheet" href="/docs/assets/console.css">
  <link rel="stylesheet" href="/docs/assets/documents.css">
  <script type="module" src="/docs/assets/${script}"></script>
</head>
<body class="documents">
  <a class="skip" href="#content">Skip to the content</a>
  ${siteHeader(frame.searched, '#contents')}
  <main id="content" tabindex="-1">
    ${page.body}
  </main>
  <nav class="screens" id="contents" aria-label="Documents">
    ${frame.groups.map((group) => groupContent(group, page, frame.address))}
  </nav>
</body>
</html>
`

/** A group is open where the page is one of it. */
function groupContent({ lists, title }: LinkGroup, page: RenderedDocument, here: string): Content {
  const isHere = lists.some(({ links }) => links.some(({ href }) => href === here))
  const contents = lists.map(
    ({ label, links }) => html`${label !== '' && html`<p class="fine">${label}</p>`}
      <ul>${links.map(
        ({ href, text }) => html`<li>
          <a href="${href}"${href === here && html` aria-current="page"`}>${text}</a>
          ${href === here && headingsContent(page)}
        </li>`,
      )}</ul>`,
  )
  return html`<details${isHere && html` open`}><summary>${title}</summary>${contents}</details>`
}

/** The sections of the page, where it has several. */
function headingsContent({ sections }: RenderedDocument): Content {
  const headings = sections.filter(({ level }) => level === 2)
  if (headings.length < 2) return null
  return html`<ul class="headings">${headings.map(
    ({ id, title }) => html`<li><a href="#${id}">${title}</a></li>`,
  )}</ul>`
}
