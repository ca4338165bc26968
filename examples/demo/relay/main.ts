import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { parseArgs } from 'node:util'
import { refusal, type Site, type SiteAnswer } from '../../../web/site/site.ts'
import { createDemoSite, demoBase } from '../demo-site.ts'

/**
 * Runs the demo's client system as a separate program: pages and relay, without the shop or any
 * code of the issuer.
 * ``` node examples/demo/relay/main.ts --client .data/sandbox.json --port 8090 ```
 */

interface ClientFile {
  readonly baseUrl: string
  readonly processorPath: string
  readonly clientId: string
  readonly clientSecret: string
}

const { values } = parseArgs({
  options: {
    /** A file with the client's credentials: `sandbox.json`, or only those members of it. */
    client: { type: 'string', default: '.data/sandbox.json' },
    port: { type: 'string', default: '8090' },
    /** The URL for browsers, if it differs from the port's own. */
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

const bodyLimit = 65_536

/** Serves a site on its own port. @param hosts its host names. */
export async function serveSite(site: Site, port: number, hosts: ReadonlySet<string>) {
  const server = createServer({ requestTimeout: 10_000 }, async (request, response) => {
    try {
      write(response, await answerTo(site, request, hosts))
    } catch {
      write(response, refusal(500, 'internal_error', 'The relay failed. See its log.'))
    }
  })
  await once(server.listen(port, '127.0.0.1'), 'listening')
  return server
}

async function answerTo(
  site: Site,
  request: IncomingMessage,
  hosts: ReadonlySet<string>,
): Promise<SiteAnswer> {
  const { headers, method = 'GET', url = '/' } = request
  // A foreign page whose name resolves to this machine must not reach it.
  if (!hosts.has(headers.host?.toLowerCase() ?? '')) {
    return refusal(421, 'misdirected_request', 'The relay does not answer to this host name.')
  }
  const body = await readBody(request)
  if (body === null) return refusal(413, 'body_too_large', 'The body exceeds the limit.')
  const path = url.split('?')[0] ?? '/'
  return site.answer({ method: method === 'HEAD' ? 'GET' : method, path, headers, body })
}

async function readBody(request: IncomingMessage): Promise<string | null> {
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of request as AsyncIterable<Buffer>) {
    length += chunk.length
    if (length > bodyLimit) return null
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

function write(response: ServerResponse, { body, headers, status }: SiteAnswer): void {
  // The response omits the body of a 204.
  response.writeHead(status, headers).end(body)
}
