import { readDocumentsAssets } from '../../web/site/page-assets.ts'
import { readOnce } from '../../web/site/read-once.ts'
import { documentRoutes } from '../documents/routes.ts'
import type { Server } from '../listeners/http/server.ts'
import type { Config } from './config/config.ts'

/**
 * The documents, for both listeners. They are read and rendered at their first request: a start
 * does not wait for them.
 *
 * @returns what puts them on a listener
 */
export function createDocuments(config: Config): (app: Server) => void {
  const readSite = readOnce(async () => {
    const { readSite } = await import('../documents/site.ts')
    return readSite(describeInstallation(config), await readDocumentsAssets())
  })
  return (app) => documentRoutes(app, readSite)
}

/** Outside a sandbox, the public pages must not disclose the address of the private listener. */
const describeInstallation = ({ baseUrl, privateUrl, processorPath, sandbox }: Config) => ({
  baseUrl,
  privateUrl: sandbox ? privateUrl : '$PRIVATE_URL',
  processorPath,
})
