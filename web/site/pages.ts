import { readFile } from 'node:fs/promises'
import { readModules } from './modules.ts'
import { refusal, type SiteAnswer } from './site.ts'

/** Answers with a page, its style or one of its modules. */
export type Pages = (path: string) => SiteAnswer

/** What a page is told by its server: `{{name}}` in it. */
interface PageValues extends Readonly<Record<string, string>> {
  /** Path of the site: `/demo`. */
  readonly base: string
}

/**
 * Reads the page of a folder of `web` with its style and its modules, once: after that, nothing of the disk is touched.
 *
 * @param name of the folder and of its style: `demo`.
 * @param entry the module that the page begins with, from the project's root.
 */
export async function readPages(name: string, entry: string, values: PageValues): Promise<Pages> {
  const { base } = values
  const folder = new URL(`../${name}/`, import.meta.url)
  const [html, css, modules] = await Promise.all([
    readFile(new URL('index.html', folder), 'utf8'),
    readFile(new URL(`${name}.css`, folder), 'utf8'),
    readModules(entry, `${base}/assets`),
  ])
  const page = textAnswer('text/html', fill(html, values, [...modules.keys()]))
  const answers = new Map([
    [base, page],
    [`${base}/`, page],
    [`${base}/assets/${name}.css`, textAnswer('text/css', css)],
    ...[...modules].map(([path, text]) => [path, textAnswer('text/javascript', text)] as const),
  ])
  return (path) => answers.get(path) ?? refusal(404, 'not_found', 'There is nothing here.')
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
