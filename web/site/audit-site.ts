import { readPages } from './pages.ts'
import { readOnce } from './read-once.ts'
import { type Site, siteHeaders } from './site.ts'

/**
 * Creates the page that shows the audit log's tree. It has no session and no rights: it fetches
 * public data only.
 * @param keysUrl the URL of the keys that verify the log.
 */
export function createAuditSite(keysUrl: string): Site {
  const headers = siteHeaders(keysUrl)
  const pages = readOnce(() =>
    readPages('web/audit/main.ts', 'audit.css', { base: '/audit', keysUrl }),
  )
  return {
    async answer({ path }) {
      const answer = (await pages())(path)
      return { ...answer, headers: { ...headers, ...answer.headers } }
    },
  }
}
