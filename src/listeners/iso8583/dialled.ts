import { randomUUID } from 'node:crypto'
import type { Socket } from 'node:net'
import type { SecureContextOptions } from 'node:tls'
import type { Link, LinkUpkeep } from '../../operations/links/links.ts'
import { computeClientThumbprint, createContextOptions, type TlsIdentity } from '../http/tls.ts'
import { within } from './connection.ts'
import type { LinkObserver } from './observer.ts'
import type { Profile } from './profile-schema.ts'
import type { RunningSession } from './session.ts'

/** Connects to an address. */
export type Dial = (target: {
  readonly host: string
  readonly port: number
  readonly tls: SecureContextOptions | null
}) => Promise<Socket>

interface DialledOptions {
  readonly link: Link
  readonly profile: Profile
  readonly observe: LinkObserver
  readonly upkeep: LinkUpkeep
  readonly dial: Dial
  tlsIdentity(): TlsIdentity | null
  begin(socket: Socket, onEnd: () => void): RunningSession
  /** Called when this process is connected (null), and when it cannot be, with the reason. */
  report(fault: string | null): void
}

/** The first and the longest pause between two attempts to connect. */
const retryMs = [250, 15_000] as const
/** The lease lasts three times as long. */
const leaseCheckMs = 3_000
/** How long a stop waits for a pending connection. */
const stopMs = 2_500

/**
 * Keeps a link connected while this process holds its lease; otherwise another process takes over.
 * @returns a function that stops it.
 */
export function keepDialled(options: DialledOptions): () => Promise<void> {
  const { link, observe, report, upkeep } = options
  const lease = createLease(upkeep, link.linkName)
  const stopping = new AbortController()
  const { signal } = stopping

  async function keep(): Promise<void> {
    let restMs: number = retryMs[0]
    while (!signal.aborted) {
      if (await lease.claim()) {
        const since = performance.now()
        await connectOnce(options, lease, signal).catch((error) => {
          observe.faulted(link.linkName, error)
          report(describeDialFault(link, error))
        })
        // A connection that lasted for a while is retried at once.
        const hasHeld = performance.now() - since > retryMs[1]
        restMs = hasHeld ? retryMs[0] : Math.min(restMs * 2, retryMs[1])
      } else restMs = leaseCheckMs
      await rest(restMs, signal)
    }
    await lease.release()
  }

  const kept = keep()
  return async () => {
    stopping.abort()
    await within(stopMs, kept)
  }
}

/** Describes a failed connection for operators. */
function describeDialFault({ host, port }: Link, error: unknown): string {
  const address = `${host}:${port}`
  const { code, message } = error as Error & { readonly code?: string }
  if (code === 'ECONNREFUSED') return `No program listens on ${address} (ECONNREFUSED).`
  return code === undefined ? message : `${address} cannot be reached (${code}).`
}

type Lease = ReturnType<typeof createLease>

/** The right of one process to dial a link. */
function createLease(upkeep: LinkUpkeep, linkName: string) {
  const holder = randomUUID()
  let heldUntil = 0
  /**
   * During a database outage, this process keeps the link until another process could take the
   * lease.
   */
  const isHeld = () => performance.now() < heldUntil
  return {
    isHeld,
    /**
     * Takes or renews the lease.
     * @returns whether this process has it.
     */
    async claim(): Promise<boolean> {
      const askedAt = performance.now()
      const leasedMs = await upkeep.hold(linkName, holder).catch(() => null)
      if (leasedMs !== null) heldUntil = askedAt + leasedMs
      return isHeld()
    },
    release: () => upkeep.release(linkName, holder).catch(() => undefined),
  }
}

/** Runs one connection, from its sign-on to its end. */
async function connectOnce(
  options: DialledOptions,
  lease: Lease,
  stopping: AbortSignal,
): Promise<void> {
  const { begin, profile, report } = options
  let session: RunningSession | null = null
  const endUnlessHeld = () => {
    if (!lease.isHeld()) session?.end('another process may have the link')
  }
  const renewing = setInterval(() => {
    // A hanging process must not keep the link.
    endUnlessHeld()
    void lease.claim().then(endUnlessHeld)
  }, leaseCheckMs)
  let echo: NodeJS.Timeout | undefined
  try {
    const socket = await dialBound(options)
    if (!socket || stopping.aborted || !lease.isHeld()) {
      socket?.destroy()
      return
    }
    const { promise: ended, resolve } = Promise.withResolvers<void>()
    const begun = begin(socket, resolve)
    session = begun
    echo = setInterval(async () => {
      if (await begun.echo()) return
      begun.end('the peer does not answer')
      report('The network did not answer an echo.')
    }, profile.timers.echoMs)
    if (profile.signOn.required && !(await begun.signOn())) {
      begun.end('the peer did not accept the sign-on')
      report('The network did not accept the sign-on.')
    } else report(null)
    await ended
  } finally {
    clearInterval(renewing)
    clearInterval(echo)
  }
}

/**
 * Connects to the peer. Returns null if the link names certificates and the peer has another, or if
 * the peer's certificate has a weak key.
 */
async function dialBound({
  dial,
  link,
  observe,
  report,
  tlsIdentity,
}: DialledOptions): Promise<Socket | null> {
  const { certificates, host, linkName, port } = link
  const identity = link.tls ? tlsIdentity() : null
  if (link.tls && !identity) throw new Error('The service has no certificate for links.')
  const socket = await dial({ host, port, tls: identity && createContextOptions(identity) })
  // Without a listener, an error before the session begins would end the process.
  socket.on('error', () => undefined)
  const thumbprint = computeClientThumbprint(socket)
  const isNamed = certificates.length === 0 || certificates.includes(thumbprint ?? '')
  if (isNamed && (!link.tls || thumbprint !== null)) return socket
  socket.destroy()
  observe.failed(linkName, 'refused peer')
  report(`The certificate of ${host}:${port} is not one that the link accepts.`)
  return null
}

function rest(ms: number, signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  const timer = setTimeout(resolve, ms)
  signal.addEventListener('abort', () => resolve(), { once: true })
  return promise.finally(() => clearTimeout(timer))
}
