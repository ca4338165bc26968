/**
 * The client system of the demo as a program of its own: pages and relay, no shop, nothing of the
 * issuer.
 *
 * ```
 * node web/relay/main.ts --client .data/sandbox.json --port 8090
 * ```
 */
import { readFile } from 'node:fs/promises'
import { parseArgs } from 'node:util'
import { createDemoSite, demoBase } from '../site/demo-site.ts'
import { serveSite } from './serve.ts'

interface ClientFile {
  readonly baseUrl: string
  readonly processorPath: string
  readonly clientId: string
  readonly clientSecret: string
}

const { values } = parseArgs({
  options: {
    /** A file with the client's credentials: `sandbox.json`, or those members of it alone. */
    client: { type: 'string', default: '.data/sandbox.json' },
    port: { type: 'string', default: '8090' },
    /** Where browsers reach it, if not at its own port. */
    url: { type: 'string' },
  },
})

const { baseUrl, clientId, clientSecret, processorPath }: ClientFile = JSON.parse(
  await readFile(values.client, 'utf8'),
)
const port = Number(values.port)
const url = values.url ?? `http://127.0.0.1:${port}`
const site = createDemoSite({
  access: { serviceUrl: baseUrl, processorPath, clientId, clientSecret },
  issuer: baseUrl,
  keysUrl: `${baseUrl}/.well-known/jwks.json`,
  hasShop: false,
  isSecure: url.startsWith('https:'),
})
const server = await serveSite(site, port, new Set([new URL(url).host]))
for (const signal of ['SIGTERM', 'SIGINT'] as const) {
  process.once(signal, () => {
    server.close()
    server.closeAllConnections()
  })
}
console.log(`The client system is ready: ${url}${demoBase}`)
