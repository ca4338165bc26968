import { createServer, type Server, type Socket } from 'node:net'
import { createServer as createTlsServer, TLSSocket } from 'node:tls'
import type { Link } from '../../operations/links/links.ts'
import { addressesIn } from '../http/caller-address.ts'
import { computeClientThumbprint, createContextOptions, type TlsIdentity } from '../http/tls.ts'
import type { LinkObserver } from './observer.ts'

interface ListeningOptions {
  readonly link: Link
  readonly observe: LinkObserver
  /** The present TLS identity; null without a certificate. */
  tlsIdentity(): TlsIdentity | null
  /** Returns the number of the link's connections. */
  connections(): number
  begin(socket: Socket): void
  /** Called when the process listens (null), and when it cannot, with the reason. */
  report(fault: string | null): void
}

/** A listener for a network's connections. */
interface Listening {
  /** Uses a replaced certificate. */
  renew(): void
  stop(): Promise<void>
}

/** The maximum number of connections of a link, in one process. */
const connectionsMax = 16
/** The same including running handshakes, and their time limit. */
const socketsMax = 64
const handshakeMs = 10_000
/** Another program may release the address, or a certificate may be added. */
const retryMs = 15_000

/**
 * Waits for a network to connect. With several processes, the primary accepts connections and
 * assigns them in turn: a link has few, and chance could put all into one process.
 */
export function listen(options: ListeningOptions): Listening {
  const { begin, connections, link, observe, report, tlsIdentity } = options
  const isAllowed = peerRule(link)
  const take = (socket: Socket) => {
    // Without a listener, an error would end the process.
    socket.on('error', () => undefined)
    const isFull = connections() >= connectionsMax
    if (!isFull && isAllowed(socket)) {
      begin(socket)
      return
    }
    observe.failed(link.linkName, isFull ? 'too many connections' : 'refused peer')
    socket.destroy()
  }
  let identity: TlsIdentity | null = null
  let server: Server | null = null
  let retry: NodeJS.Timeout | null = null
  let lastFault: string | null = null
  let isOver = false

  function failed(error: Error & { readonly code?: string }): void {
    server?.close()
    if (isOver) return
    // A persistent fault is reported once.
    const fault = error.code ?? error.message
    if (fault !== lastFault) observe.unserved(link.linkName, describeListenFault(link, error))
    lastFault = fault
    report(describeListenFault(link, error))
    retry = setTimeout(open, retryMs)
  }

  function open(): void {
    identity = link.tls ? tlsIdentity() : null
    if (link.tls && !identity) {
      failed(new Error('The service has no certificate for links.'))
      return
    }
    server = createLinkServer(options, identity, take)
    server.on('error', failed)
    server.listen({ host: link.host, port: link.port }, () => {
      lastFault = null
      report(null)
    })
  }

  open()
  return {
    renew() {
      const current = tlsIdentity()
      if (!server || !identity || !current || current === identity) return
      identity = current
      const tlsServer = server as ReturnType<typeof createTlsServer>
      tlsServer.setSecureContext(createContextOptions(current))
    },
    async stop() {
      isOver = true
      if (retry) clearTimeout(retry)
      server?.close()
    },
  }
}

/** Describes for operators why an address cannot be listened on. */
function describeListenFault(
  { host, port }: Link,
  error: Error & { readonly code?: string },
): string {
  const address = `${host}:${port}`
  if (error.code === 'EADDRINUSE') return `${address} is taken by another program (EADDRINUSE).`
  return error.code === undefined
    ? error.message
    : `This machine cannot listen on ${address} (${error.code}).`
}

function createLinkServer(
  { link, observe }: ListeningOptions,
  identity: TlsIdentity | null,
  take: (socket: Socket) => void,
): Server {
  // A certificate is requested if an authority of networks is known.
  const isMutual = identity?.ca !== undefined
  const asking = {
    requestCert: isMutual,
    rejectUnauthorized: isMutual,
    handshakeTimeout: handshakeMs,
  }
  // A peer that closes its half still gets its answers.
  const halves = { allowHalfOpen: true }
  const server = identity
    ? createTlsServer({ ...halves, ...createContextOptions(identity), ...asking }, take)
    : createServer(halves, take)
  server.maxConnections = socketsMax
  server.on('tlsClientError', (error: NodeJS.ErrnoException) =>
    observe.failed(link.linkName, 'handshake', error.code ?? error.name),
  )
  return server
}

/**
 * Whether a peer may act as the link's network: by its certificate or, without one, by its address.
 */
function peerRule({ certificates, peers, tls }: Link): (socket: Socket) => boolean {
  const isNamed = addressesIn(['127.0.0.0/8', '::1/128', ...peers])
  return (socket) => {
    if (certificates.length === 0) return isNamed(socket.remoteAddress) && !hasRefusedKey(socket)
    const thumbprint = tls ? computeClientThumbprint(socket) : null
    return thumbprint !== null && certificates.includes(thumbprint)
  }
}

/** Whether a peer presented a certificate that is rejected, for example because of a weak key. */
const hasRefusedKey = (socket: Socket): boolean =>
  socket instanceof TLSSocket &&
  socket.getPeerX509Certificate() !== undefined &&
  computeClientThumbprint(socket) === null
