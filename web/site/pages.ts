import { readFile } from 'node:fs/promises'
import { projectRoot, readModules } from './modules.ts'
import { refusal, type SiteAnswer } from './site.ts'

/** Answers requests for a page, its style sheet or its modules. */
export type Pages = (path: string) => SiteAnswer

/** The values that the server puts into a page: `{{name}}`. */
interface PageValues extends Readonly<Record<string, string>> {
  /** Path of the site: `/demo`. */
  readonly base: string
}

/**
 * Reads a page of a folder with its style sheet and its modules, once; later requests read nothing
 * from disk.
 * @param entry the module that the page begins with, from the project's root; the page is the
 *   `index.html` beside it.
 * @param style the name of the style sheet beside it: `demo.css`.
 */
export async function readPages(entry: string, style: string, values: PageValues): Promise<Pages> {
  const { base } = values
  const folder = new URL('.', new URL(entry, projectRoot))
  const [html, css, modules] = await Promise.all([
    readFile(new URL('index.html', folder), 'utf8'),
    readFile(new URL(style, folder), 'utf8'),
    readModules(entry, `${base}/assets`),
  ])
  const page = textAnswer('text/html', fill(html, values, [...modules.keys()]))
  const answers = new Map([
    [base, page],
    [`${base}/`, page],
    [`${base}/assets/${style}`, textAnswer('text/css', css)],
    ...[...modules].map(([path, text]) => [path, textAnswer('text/javascript', text)] as const),
  ])
  return (path) => answers.get(path) ?? refusal(404, 'not_found', 'No resource has this address.')
}

const textAnswer = (type: string, body: string): SiteAnswer => ({
  status: 200,
  headers: { 'content-type': `${type}; charset=utf-8` },
  body,
})

function fill(html: string, values: PageValues, modules: readonly string[]): string {
  // Fetched concurrently, instead of one level of imports after the other.
  const preloads = modules.map((path) => `<link rel="modulepreload" href="${path}">`).join('\n')
  return html
    .replaceAll(/\{\{(\w+)\}\}/g, (_, name: string) => escapeText(values[name] ?? ''))
    .replace('<!-- modules -->', () => preloads)
}

const escapeText = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;')
