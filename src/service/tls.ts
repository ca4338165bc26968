import type { Logger } from 'pino'
import { Counter, Gauge, type Registry } from 'prom-client'
import type { ListenerName } from '../domain/client.ts'
import { headerLimit } from '../listeners/http/problems.ts'
import { type TlsIdentity, type TlsServers, tlsServers } from '../listeners/http/tls.ts'
import { type Config, ConfigError } from './config/config.ts'
import { type OpenedTls, openTlsFiles, type TlsConfig, type TlsMaterial } from './config/tls.ts'

/** TLS of one listener and its renewal. */
export interface OpenTls {
  readonly servers: TlsServers
  /** The current certificate and key; another object after a replacement. */
  identity(): TlsIdentity
  /** Reads the files again and adopts them if they are new and valid. */
  refresh(): void
}

/** Metrics of the certificates of all listeners. */
interface TlsObserver {
  inUse(listener: ListenerName, material: TlsMaterial): void
  replaced(listener: ListenerName, material: TlsMaterial): void
  refused(listener: ListenerName, faults: readonly string[]): void
  handshakeFailed(listener: ListenerName, code: string): void
}

/** Opens the certificates of the listeners that speak TLS. @throws `ConfigError` */
export function openTls(
  { privateListener, publicListener }: Config,
  registry: Registry,
  log: Logger,
): Readonly<Record<ListenerName, OpenTls | null>> {
  const observer = tlsObserver(registry, log)
  return {
    public: publicListener.tls && openListener('public', publicListener.tls, observer),
    private: privateListener.tls && openListener('private', privateListener.tls, observer),
  }
}

/** Listeners that request client certificates. */
export const certificateListeners = ({
  privateListener,
  publicListener,
}: Config): ReadonlySet<ListenerName> => {
  const asks = ({ tls }: Config['publicListener']) =>
    tls !== null && tls.clientCertificates !== 'off'
  return new Set([
    ...(asks(publicListener) ? ['public' as const] : []),
    ...(asks(privateListener) ? ['private' as const] : []),
  ])
}

function openListener(
  listener: ListenerName,
  { clientCertificates, files }: TlsConfig,
  observer: TlsObserver,
): OpenTls {
  const first = openTlsFiles(files, new Date())
  if ('faults' in first) throw new ConfigError(first.faults)
  let lastSeen = described(first)
  observer.inUse(listener, first.material)
  let identity = createIdentity(first.material)
  const servers = tlsServers({
    identity,
    clientCertificates,
    headerLimit,
    onFailure: (code) => observer.handshakeFailed(listener, code),
  })
  return {
    servers,
    identity: () => identity,
    refresh() {
      const opened = openTlsFiles(files, new Date())
      const seen = described(opened)
      // A lasting fault is reported once.
      if (seen === lastSeen) return
      lastSeen = seen
      if ('faults' in opened) {
        observer.refused(listener, opened.faults)
        return
      }
      identity = createIdentity(opened.material)
      servers.replace(identity)
      observer.replaced(listener, opened.material)
    },
  }
}

const createIdentity = (material: TlsMaterial): TlsIdentity => ({
  cert: material.certificates,
  key: material.privateKey.reveal(),
  ...(material.clientAuthorities !== null && { ca: material.clientAuthorities }),
})

/** Equal for unchanged files: a key that fits the same certificate is the same key. */
const described = (opened: OpenedTls): string => JSON.stringify(opened)

function tlsObserver(registry: Registry, log: Logger): TlsObserver {
  const labels = { labelNames: ['listener'] as const, registers: [registry] }
  const notAfter = new Gauge({
    name: 'pinfold_tls_certificate_not_after_seconds',
    help: "Expiry of a listener's certificate, in seconds since 1970.",
    ...labels,
  })
  const refusals = new Counter({
    name: 'pinfold_tls_refresh_failures_total',
    help: 'Changed TLS files that could not be used; the previous certificate stays.',
    ...labels,
  })
  const handshakes = new Counter({
    name: 'pinfold_tls_handshake_failures_total',
    help: 'Connections that failed in the handshake, or because of a certificate.',
    ...labels,
  })
  const inUse: TlsObserver['inUse'] = (listener, material) =>
    notAfter.set({ listener }, material.notAfter.getTime() / 1_000)
  return {
    inUse,
    replaced(listener, material) {
      inUse(listener, material)
      log.info({ listener, notAfter: material.notAfter }, 'the TLS certificate was replaced')
    },
    refused(listener, faults) {
      refusals.inc({ listener })
      log.warn({ listener, faults }, 'the changed TLS files cannot be used; the previous ones stay')
    },
    handshakeFailed(listener, code) {
      handshakes.inc({ listener })
      log.info({ listener, code }, 'a TLS handshake failed')
    },
  }
}
