import { readFile } from 'node:fs/promises'
import { projectRoot, readModules } from './modules.ts'
import { refusal, type SiteAnswer } from './site.ts'

/** Answers with a page, its style or one of its modules. */
export type Pages = (path: string) => SiteAnswer

/** What a page is told by its server: `{{name}}` in it. */
interface PageValues extends Readonly<Record<string, string>> {
  /** Path of the site: `/demo`. */
  readonly base: string
}

/**
 * Reads the page of a folder with its style and its modules, once: after that, nothing of the disk
 * is touched.
 *
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
  // Fetched all at once, instead of one generation of imports after the other.
  const preloads = modules.map((path) => `<link rel="modulepreload" href="${path}">`).join('\n')
  return html
    .replaceAll(/\{\{(\w+)\}\}/g, (_, name: string) => escapeText(values[name] ?? ''))
    .replace('<!-- modules -->', () => preloads)
}

const escapeText = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;')
