import type { SiteRequest } from './site.ts'

/**
 * Whether a request comes from the site's own pages, or is a person opening a page of it.
 *
 * Browsers tell where a call comes from, and no page can make them lie: `Sec-Fetch-Site` (Fetch
 * Metadata) with every call, `Origin` with every POST. A cookie's `SameSite` alone would not do:
 * another port of this machine is the same site.
 */
export function isSameOrigin({ headers, method }: SiteRequest): boolean {
  const { host, origin } = headers
  if (origin !== undefined && !isOriginOf(origin, host)) return false
  if (method !== 'GET') return origin !== undefined && isFromHere(headers['sec-fetch-site'])
  return isFromHere(headers['sec-fetch-site']) || isOpened(headers)
}

const isFromHere = (site: unknown): boolean =>
  site === undefined || site === 'same-origin' || site === 'none'

/** A link elsewhere may lead to a page, in a window of its own: it shows nothing to who placed it. */
const isOpened = (headers: SiteRequest['headers']): boolean =>
  headers['sec-fetch-mode'] === 'navigate' && headers['sec-fetch-dest'] === 'document'

const isOriginOf = (origin: string, host: string | undefined): boolean =>
  URL.canParse(origin) && host !== undefined && new URL(origin).host === host.toLowerCase()
