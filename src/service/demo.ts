import { createDemoSite } from '../../examples/demo/demo-site.ts'
import type { DemoSite } from '../listeners/public/routes/demo.ts'
import type { SandboxFile } from '../sandbox/sandbox-file.ts'
import type { Config } from './config/config.ts'
import { isLoopback } from './config/exposure.ts'

/**
 * The demo's client system. It runs in this process for convenience and calls the service over HTTP
 * with the demo client's credentials, without other access. Null if the demo client can get no
 * token here, or would need a certificate to connect.
 */
export function createDemo(config: Config, sandbox: SandboxFile | null): DemoSite | null {
  const asksCertificate = config.publicListener.tls?.clientCertificates === 'required'
  if (!sandbox || config.outsideIssuer || asksCertificate) return null
  const { clientId, clientSecret, processorPath } = sandbox
  return createDemoSite({
    access: { serviceUrl: ownUrl(config), processorPath, clientId, clientSecret },
    issuer: config.baseUrl,
    // Same origin as the page, whichever name of this machine was used.
    keysUrl: '/.well-known/jwks.json',
    hasShop: true,
    isSecure: config.baseUrl.startsWith('https:'),
  })
}

/** The listener's own URL: a proxy in front of it may not be running yet. */
function ownUrl({ baseUrl, publicListener: { host, port, tls } }: Config): string {
  // The certificate is valid for the name in the public URL.
  if (tls) return baseUrl
  if (['0.0.0.0', '::'].includes(host)) return `http://127.0.0.1:${port}`
  return isLoopback(host) ? `http://${host.includes(':') ? `[${host}]` : host}:${port}` : baseUrl
}
