import { readPages } from '../../web/site/pages.ts'
import { readOnce } from '../../web/site/read-once.ts'
import {
  beginSession,
  findSession,
  isSameOrigin,
  refusal,
  type Site,
  type SiteAnswer,
  type SiteRequest,
  siteHeaders,
} from '../../web/site/site.ts'
import { createRelay, type ServiceAccess } from './relay/relay.ts'
import { createShop } from './shop/shop.ts'

export interface DemoSiteOptions {
  readonly access: ServiceAccess
  readonly issuer: string
  readonly keysUrl: string
  /** Whether the site has a shop. A client system has none. */
  readonly hasShop: boolean
  /** Whether browsers use https. */
  readonly isSecure: boolean
}

/** The path of the site on its server. */
export const demoBase = '/demo'

const relayBase = `${demoBase}/relay`
const shopBase = `${demoBase}/shop`
/** The page that shows an auditor what left the device. */
const proofBase = `${demoBase}/proof`

/** Creates the cardholder's pages and their back ends, each under its own path. */
export function createDemoSite(options: DemoSiteOptions): Site {
  const relay = createRelay(options.access, relayBase)
  const shop = options.hasShop ? createShop(options.access, shopBase) : null
  const headers = siteHeaders(options.keysUrl)
  // Read at the first visit, so that the start of the service does not wait for it.
  const pages = readOnce(() =>
    readPages('examples/demo/page/main.ts', 'demo.css', {
      base: demoBase,
      hasShop: String(options.hasShop),
      issuer: options.issuer,
      keysUrl: options.keysUrl,
    }),
  )
  const proof = readOnce(() =>
    readPages('examples/demo/proof/main.ts', 'proof.css', {
      base: proofBase,
      site: demoBase,
      issuer: options.issuer,
      keysUrl: options.keysUrl,
    }),
  )
  const answerPage = async (request: SiteRequest): Promise<SiteAnswer> => {
    const isProof = `${request.path}/`.startsWith(`${proofBase}/`)
    const answer = (await (isProof ? proof : pages)())(request.path)
    const isBegun = answer.status !== 200 || findSession(request) !== null
    const cookie = () => beginSession(demoBase, options.isSecure)
    return isBegun ? answer : { ...answer, headers: { ...answer.headers, 'set-cookie': cookie() } }
  }
  const answerFrom = async (request: SiteRequest): Promise<SiteAnswer> => {
    if (!isSameOrigin(request)) {
      return refusal(403, 'cross_origin', 'Only pages of this site can call it.')
    }
    if (request.path.startsWith(`${relayBase}/`)) return relay.answer(request)
    if (shop && request.path.startsWith(`${shopBase}/`)) return shop.answer(request)
    return request.method === 'GET'
      ? answerPage(request)
      : refusal(405, 'method_not_allowed', 'Pages support GET and HEAD only.')
  }
  return {
    async answer(request) {
      const answer = await answerFrom(request)
      return { ...answer, headers: { ...headers, ...answer.headers } }
    },
  }
}
