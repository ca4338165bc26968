import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import { type CallerAddresses, plainAddress, toNetwork } from './caller-address.ts'

/** How long a peer may take for its request, for a handshake, and to take some of its answer. */
export const peerTimeoutMs = 10_000

/** The limits of an HTTP server, the same for plain and for TLS ones. Times are in milliseconds. */
export const serverRules = {
  headersTimeout: peerTimeoutMs,
  requestTimeout: peerTimeoutMs,
  // How often Node looks at those two. Its own half a minute would be added to what is promised.
  connectionsCheckingInterval: 500,
  // Node would answer by itself, in no form of ours: see `isHostClear`.
  requireHostHeader: false,
} as const

interface ConnectionsOptions {
  /** At once. */
  readonly most: number
  /** Of one address (in IPv6: of one /64) that is no trusted proxy's. */
  readonly mostPerAddress: number
  readonly callers: CallerAddresses
  /** How long one is kept between two requests. */
  readonly keepAliveMs: number
  /** Called for a connection that was closed at once. */
  onRefused(reason: 'all' | 'address'): void
}

/** The connections of one listener, which has a server for each of its addresses. */
export interface Connections {
  /** Bounds those of a server, from their first packet on, which is before a handshake. */
  watch(server: Server): void
  /** How many there are. */
  count(): number
  /** Ends every one, also those of which an HTTP server knows nothing yet. */
  destroyAll(): void
}

export function createConnections(options: ConnectionsOptions): Connections {
  const { callers, keepAliveMs, most, mostPerAddress, onRefused } = options
  const open = new Set<Socket>()
  const countsByAddress = new Map<string, number>()

  function accept(socket: Socket): void {
    const address = plainAddress(socket.remoteAddress ?? '')
    const network = address === null || callers.isProxy(address) ? null : toNetwork(address)
    const count = network === null ? 0 : (countsByAddress.get(network) ?? 0)
    if (open.size >= most || count >= mostPerAddress) {
      onRefused(open.size >= most ? 'all' : 'address')
      socket.destroy()
      return
    }
    open.add(socket)
    if (network !== null) countsByAddress.set(network, count + 1)
    socket.once('close', () => {
      open.delete(socket)
      if (network === null) return
      const left = (countsByAddress.get(network) ?? 1) - 1
      if (left > 0) countsByAddress.set(network, left)
      else countsByAddress.delete(network)
    })
  }

  return {
    watch(server) {
      server.on('connection', accept)
      server.keepAliveTimeout = keepAliveMs
      endIdle(server)
    },
    count: () => open.size,
    destroyAll() {
      for (const socket of open) socket.destroy()
    },
  }
}

/**
 * Ends connections on which nothing moves: nobody takes the answer, or nobody asks. One whose
 * request is still worked on is left alone, and so is a stream between two events.
 */
function endIdle(server: Server): void {
  const answersDue = new WeakMap<Socket, number>()
  server.on('request', ({ socket }, response) => {
    answersDue.set(socket, (answersDue.get(socket) ?? 0) + 1)
    response.once('close', () => answersDue.set(socket, (answersDue.get(socket) ?? 1) - 1))
  })
  server.setTimeout(peerTimeoutMs, (socket) => {
    const isWorkedOn = (answersDue.get(socket) ?? 0) > 0 && socket.writableLength === 0
    if (!isWorkedOn) socket.destroy()
  })
}
