import { readFile } from 'node:fs/promises'
import { createRelay, type ServiceAccess } from '../relay/relay.ts'
import { createShop } from '../shop/shop.ts'
import { readModules } from './modules.ts'
import {
  beginSession,
  isSameOrigin,
  refusal,
  type Site,
  type SiteAnswer,
  type SiteRequest,
  sessionOf,
  siteHeaders,
} from './site.ts'

export interface DemoSiteOptions {
  readonly access: ServiceAccess
  readonly issuer: string
  readonly keysUrl: string
  /** Whether there is a shop, too. A client system by itself has none. */
  readonly hasShop: boolean
  /** Whether browsers reach the site over https. */
  readonly isSecure: boolean
}

/** Where the site lies on its server. */
export const demoBase = '/demo'

const relayBase = `${demoBase}/relay`
const shopBase = `${demoBase}/shop`

/** The cardholder's pages and the back ends that they call, each under a path of its own. */
export function createDemoSite(options: DemoSiteOptions): Site {
  const relay = createRelay(options.access, relayBase)
  const shop = options.hasShop ? createShop(options.access, shopBase) : null
  const headers = siteHeaders(options.keysUrl)
  let pages: Promise<Pages> | null = null
  const answerPage = async (request: SiteRequest): Promise<SiteAnswer> => {
    // Read when the first visitor comes: a service that nobody looks at starts no later for it.
    pages ??= readPages({ ...options, base: demoBase })
    const answer = (await pages)(request.path)
    const isBegun = answer.status !== 200 || sessionOf(request) !== null
    const cookie = () => beginSession(demoBase, options.isSecure)
    return isBegun ? answer : { ...answer, headers: { ...answer.headers, 'set-cookie': cookie() } }
  }
  const answerFrom = async (request: SiteRequest): Promise<SiteAnswer> => {
    if (!isSameOrigin(request)) {
      return refusal(403, 'cross_origin', 'Only the pages of this site may call it.')
    }
    if (request.path.startsWith(`${relayBase}/`)) return relay.answer(request)
    if (shop && request.path.startsWith(`${shopBase}/`)) return shop.answer(request)
    return request.method === 'GET'
      ? answerPage(request)
      : refusal(405, 'method_not_allowed', 'Pages are only read.')
  }
  return {
    async answer(request) {
      const answer = await answerFrom(request)
      return { ...answer, headers: { ...headers, ...answer.headers } }
    },
  }
}

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
