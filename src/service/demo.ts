import { createDemoSite } from '../../examples/demo/demo-site.ts'
import type { DemoSite } from '../listeners/public/routes/demo.ts'
import type { SandboxFile } from '../sandbox/sandbox-file.ts'
import type { Config } from './config/config.ts'
import { isLoopback } from './config/exposure.ts'

/**
 * The demo's client system. It runs in this process for convenience, and calls the service over
 * HTTP with the demo client's credentials: nothing else is handed to it. Null where the demo client
 * can get no token here, or could not connect without a certificate of its own.
 */
export function createDemo(config: Config, sandbox: SandboxFile | null): DemoSite | null {
  const asksCertificate = config.publicListener.tls?.clientCertificates === 'required'
  if (!sandbox || config.outsideIssuer || asksCertificate) return null
  const { clientId, clientSecret, processorPath } = sandbox
  return createDemoSite({
    access: { serviceUrl: ownUrl(config), processorPath, clientId, clientSecret },
    issuer: config.baseUrl,
    // From the page's own origin, by whatever name of this machine it was reached.
    keysUrl: '/.well-known/jwks.json',
    hasShop: true,
    isSecure: config.baseUrl.startsWith('https:'),
  })
}

/** Where this process reaches its own listener: a proxy in front of it may not be there yet. */
function ownUrl({ baseUrl, publicListener: { host, port, tls } }: Config): string {
  // A certificate is for a name, and that is the one in the address that clients use.
  if (tls) return baseUrl
  if (['0.0.0.0', '::'].includes(host)) return `http://127.0.0.1:${port}`
  return isLoopback(host) ? `http://${host.includes(':') ? `[${host}]` : host}:${port}` : baseUrl
}
