import { type Pages, readPages } from './pages.ts'
import { type Site, siteHeaders } from './site.ts'

/**
 * The page that shows the audit log's tree. It has no session and no right of its own: what it fetches, anybody may.
 *
 * @param keysUrl where it fetches the keys that the log is verified by.
 */
export function createAuditSite(keysUrl: string): Site {
  const headers = siteHeaders(keysUrl)
  let pages: Promise<Pages> | null = null
  return {
    async answer({ path }) {
      pages ??= readPages('audit', 'web/audit/main.ts', { base: '/audit', keysUrl })
      const answer = (await pages)(path)
      return { ...answer, headers: { ...headers, ...answer.headers } }
    },
  }
}
