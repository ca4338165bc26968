import { readFile } from 'node:fs/promises'
import { readModules } from './modules.ts'
import { refusal, type SiteAnswer } from './site.ts'

export interface PageOptions {
  /** Path of the site: `/demo`. */
  readonly base: string
  /** The service that signs card data: its `iss`. */
  readonly issuer: string
  /** Where the page fetches the service's public keys: a path of this origin, or a URL. */
  readonly keysUrl: string
  /** Whether the site has a shop to pay in. */
  readonly hasShop: boolean
}

/** Answers with a page, its style or one of its modules. */
export type Pages = (path: string) => SiteAnswer

const demo = new URL('../demo/', import.meta.url)

/** Reads everything once; after that, nothing of the disk is touched. */
export async function readPages(options: PageOptions): Promise<Pages> {
  const { base } = options
  const [html, css, modules] = await Promise.all([
    readFile(new URL('index.html', demo), 'utf8'),
    readFile(new URL('demo.css', demo), 'utf8'),
    readModules('web/demo/main.ts', `${base}/assets`),
  ])
  const page = textAnswer('text/html', fill(html, options, [...modules.keys()]))
  const answers = new Map([
    [base, page],
    [`${base}/`, page],
    [`${base}/assets/demo.css`, textAnswer('text/css', css)],
    ...[...modules].map(([path, text]) => [path, textAnswer('text/javascript', text)] as const),
  ])
  return (path) => answers.get(path) ?? refusal(404, 'not_found', 'There is nothing here.')
}

const textAnswer = (type: string, body: string): SiteAnswer => ({
  status: 200,
  headers: { 'content-type': `${type}; charset=utf-8` },
  body,
})

function fill(html: string, options: PageOptions, modules: readonly string[]): string {
  const { base, hasShop, issuer, keysUrl } = options
  // Fetched all at once, instead of one generation of imports after the other.
  const preloads = modules.map((path) => `<link rel="modulepreload" href="${path}">`).join('\n')
  const values: Readonly<Record<string, string>> = {
    base,
    hasShop: String(hasShop),
    issuer,
    keysUrl,
  }
  return html
    .replaceAll(/\{\{(\w+)\}\}/g, (_, name: string) => escapeText(values[name] ?? ''))
    .replace('<!-- modules -->', () => preloads)
}

const escapeText = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;')
