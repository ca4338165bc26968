import { html } from '../listeners/http/html.ts'
import { type PublishedDocument, publishedDocument } from '../listeners/http/published-document.ts'
import type { Installation } from './api/openapi.ts'
import { type Api, readApis } from './api/read-apis.ts'
import { layout } from './layout.ts'
import { type Library, readLibrary } from './library.ts'
import type { LinkGroup, RenderedDocument } from './markdown.ts'
import { resultsContent, searchEntries } from './search.ts'

/** The documents as pages, with the references of the interfaces. */
export interface Site {
  /** Finds a page, or a file of one; null where nothing has this address. */
  find(address: string): Promise<PublishedDocument | null>
  search(text: string): PublishedDocument
}

/** Style, icon and modules, by their names under `/docs/assets/`. */
type Assets = Readonly<Record<string, { readonly mediaType: string; readonly text: string }>>

/** Reads and renders everything once: after that, only pictures and sources are read. */
export async function readSite(installation: Installation, assets: Assets): Promise<Site> {
  const library = await readLibrary()
  const { contents, documents, files } = library
  const apis = await readApis(installation)
  const pages = new Map([...documents, ...apis.flatMap(({ pages }) => [...pages])])
  const groups = [
    ...contents.map((group) => onlyDocuments(group, documents)),
    ...apis.map(groupPages),
    decisionsGroup(documents),
  ]
  const entries = [...pages].flatMap(([address, { sections, title }]) =>
    sections.map((section) => ({ ...section, address, page: title })),
  )
  const sources = apis.flatMap(({ documents }) => [...documents])
  const published = new Map([
    ...sources.map(
      ([address, document]) =>
        [address, publishedDocument('application/json; charset=utf-8', document)] as const,
    ),
    ...Object.entries(assets).map(
      ([name, { mediaType, text }]) =>
        [`/docs/assets/${name}`, publishedDocument(mediaType, text)] as const,
    ),
  ])
  const publishPage = (page: RenderedDocument, address: string, searched: string) =>
    publishedDocument(
      'text/html; charset=utf-8',
      String(layout(page, { address, groups, searched })),
    )
  return {
    async find(address) {
      const page = pages.get(address)
      if (page) return publishPage(page, address, '')
      const file = files.get(address)
      if (file) return publishedDocument(file.mediaType, await file.read())
      return published.get(address) ?? null
    },
    search(text) {
      const found = searchEntries(entries, text)
      const title = 'Search'
      const body = html`<h1>${title}</h1>${resultsContent(text, found)}`
      return publishPage({ title, body, sections: [] }, '/docs/search', text)
    },
  }
}

/** Without sources, and without the interfaces, which have groups of their own. */
const onlyDocuments = (
  { lists, title }: LinkGroup,
  documents: Library['documents'],
): LinkGroup => ({
  title,
  lists: lists.map(({ label, links }) => ({
    label,
    links: links.filter(({ href }) => documents.has(href)),
  })),
})

/** The pages of an interface, for the navigation. */
const groupPages = ({ pages, title }: Api): LinkGroup => ({
  title,
  lists: [{ label: '', links: [...pages].map(([href, page]) => ({ href, text: page.title })) }],
})

const decisionsGroup = (documents: Library['documents']): LinkGroup => ({
  title: 'Decisions',
  lists: [
    {
      label: '',
      links: [...documents]
        .filter(([address]) => address.startsWith('/docs/decisions'))
        .map(([href, { title }]) => ({ href, text: title }))
        .toSorted((one, other) => (one.href < other.href ? -1 : 1)),
    },
  ],
})
