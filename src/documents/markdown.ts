import { Marked, type RendererObject, type Token, type Tokens } from 'marked'
import { Html, html } from '../listeners/http/html.ts'

/** A heading with the text up to the next one. */
export interface Section {
  readonly id: string
  /** 1 for the title of the page. */
  readonly level: number
  readonly title: string
  readonly text: string
}

/** A document as it is shown and searched. */
export interface RenderedDocument {
  /** Its first heading. */
  readonly title: string
  readonly body: Html
  readonly sections: readonly Section[]
}

/** Lists of links under a heading of the second level. */
export interface LinkGroup {
  readonly title: string
  readonly lists: readonly LinkList[]
}

interface LinkList {
  /** The paragraph above the list; empty for a list without one. */
  readonly label: string
  readonly links: readonly { readonly text: string; readonly href: string }[]
}

/**
 * Renders a document of this project. Comments are left out, and other HTML is shown as text.
 * @param resolveLink turns a link to another document or file into its address on the site
 */
export function renderDocument(
  markdown: string,
  resolveLink: (href: string) => string,
): RenderedDocument {
  const marked = new Marked()
  const tokens = marked.lexer(markdown)
  const ids = nameHeadings(tokens)
  marked.use({ renderer: createRenderer(ids) })
  marked.walkTokens(tokens, (token) => {
    if (token.type !== 'link' && token.type !== 'image') return
    if (!/^(?:[a-z]+:|#)/.test(token.href)) token.href = resolveLink(token.href)
  })
  const sections = listSections(tokens, ids)
  return { title: sections[0]?.title ?? '', body: new Html(marked.parser(tokens)), sections }
}

/** Renders a description: code, emphasis and lists. */
export const renderDescription = (markdown: string): Html =>
  new Html(descriptions.parse(markdown, { async: false }))

/** Reads the lists of links of a document by its headings of the second level. */
export function readLinkGroups(markdown: string): readonly LinkGroup[] {
  const groups: { title: string; lists: LinkList[] }[] = []
  let label = ''
  for (const token of new Marked().lexer(markdown) as Tokens.Generic[]) {
    if (token.type === 'heading' && token.depth === 2) {
      groups.push({ title: readText(token), lists: [] })
      label = ''
    }
    if (token.type === 'paragraph') label = readText(token).replace(/:$/, '')
    if (token.type === 'list') groups.at(-1)?.lists.push({ label, links: listLinks(token) })
  }
  return groups
}

/** The ids of headings, as GitHub derives them. */
function nameHeadings(tokens: readonly Token[]): ReadonlyMap<Token, string> {
  const taken = new Map<string, number>()
  return new Map(
    tokens
      .filter(({ type }) => type === 'heading')
      .map((token) => {
        const id = readText(token)
          .toLowerCase()
          .replaceAll(/[^\p{Letter}\p{Number}\s_-]/gu, '')
          .trim()
          .replaceAll(' ', '-')
        const times = taken.get(id) ?? 0
        taken.set(id, times + 1)
        return [token, times === 0 ? id : `${id}-${times}`]
      }),
  )
}

function createRenderer(ids: ReadonlyMap<Token, string>): RendererObject {
  return {
    heading(token) {
      const { depth, tokens } = token
      const id = ids.get(token) ?? ''
      const text = this.parser.parseInline(tokens)
      // No link within a link.
      const hasLink = tokens.some(({ type }) => type === 'link')
      const title = hasLink ? text : `<a href="#${id}">${text}</a>`
      return `<h${depth} id="${id}">${title}</h${depth}>\n`
    },
    code: ({ text }) => String(codeBlock(text)),
    html: ({ text }) => (text.startsWith('<!--') ? '' : String(html`${text}`)),
    image: ({ href, text }) =>
      String(html`<a href="${href}"><img src="${href}" alt="${text}" loading="lazy"></a>`),
    table({ header, rows }) {
      const cell = (name: string, { align, tokens }: Tokens.TableCell, label = ''): string => {
        const kind = align === 'right' ? html` class="number"` : ''
        const column = label === '' ? '' : html` data-label="${label}"`
        const content = allowBreaks(this.parser.parseInline(tokens))
        return `<${name}${kind}${column}>${content}</${name}>`
      }
      const labels = header.map(({ tokens }) => tokens.map(readText).join(''))
      // A column without a name has no header.
      const names = header.map((each) => cell(each.text === '' ? 'td' : 'th', each))
      const lines = rows.map(
        (row) => `<tr>${row.map((each, at) => cell('td', each, labels[at])).join('')}</tr>`,
      )
      const words = header.filter(({ align }) => align !== 'right')
      // On a narrow screen, the cells of a row are below each other.
      const kind = header.length > 2 && words.length > 1 ? ' class="stacked"' : ''
      return `<div class="scroll" tabindex="0"><table${kind}>
        <thead><tr>${names.join('')}</tr></thead>
        <tbody>${lines.join('\n')}</tbody></table></div>`
    },
  }
}

/** Lets long code in a cell break after its punctuation, so that it does not widen the table. */
const allowBreaks = (cell: string): string =>
  cell.replaceAll(/<code>[^<]{12,}<\/code>/g, (code) =>
    code.replaceAll(/[_{=,.](?=\w)|(?<=\w)[/](?=\w)/g, '$&<wbr>'),
  )

const descriptions = new Marked({
  renderer: { html: ({ text }) => String(html`${text}`) },
})

/** A block of code, which a script gives a button that copies it. */
export const codeBlock = (code: string): Html =>
  html`<div class="code"><pre tabindex="0"><code>${code}</code></pre></div>`

function listSections(tokens: readonly Token[], ids: ReadonlyMap<Token, string>): Section[] {
  const sections: { id: string; level: number; title: string; text: string }[] = []
  for (const token of tokens) {
    const id = ids.get(token)
    const last = sections.at(-1)
    if (id !== undefined && token.type === 'heading') {
      sections.push({ id, level: token.depth, title: readText(token), text: '' })
    } else if (last) {
      last.text = `${last.text} ${readText(token)}`.trim()
    }
  }
  return sections
}

/** Everything inside a token that is a token, too. */
const listParts = (token: Tokens.Generic): readonly Tokens.Generic[] =>
  token.type === 'table'
    ? [...token.header, ...token.rows.flat()]
    : (token.items ?? token.tokens ?? [])

/** The text of a token as its reader sees it, words apart. */
function readText(token: Tokens.Generic): string {
  if (token.type === 'html') return ''
  const parts = listParts(token)
  if (parts.length === 0) return token.text ?? ''
  const isInline = ['heading', 'paragraph', 'text', 'link', 'strong', 'em'].includes(token.type)
  return parts.map(readText).join(isInline ? '' : ' ')
}

const listLinks = (token: Tokens.Generic): LinkList['links'] =>
  token.type === 'link'
    ? [{ text: readText(token), href: token.href }]
    : listParts(token).flatMap(listLinks)
