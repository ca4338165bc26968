import { readPages } from './pages.ts'
import { readOnce } from './read-once.ts'
import { type Site, siteHeaders } from './site.ts'

/**
 * The page that shows the audit log's tree. It has no session and no rights: what it fetches is
 * public.
 *
 * @param keysUrl the address of the keys that verify the log.
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
