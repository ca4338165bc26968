import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import { type CallerAddresses, plainAddress, toNetwork } from './caller-address.ts'

/**
 * How long a peer may take to send its request, to complete a handshake, and to read part of its
 * answer.
 */
export const peerTimeoutMs = 10_000

/** The limits of an HTTP server, with and without TLS. Times are in milliseconds. */
export const serverRules = {
  headersTimeout: peerTimeoutMs,
  requestTimeout: peerTimeoutMs,
  // How often Node checks those two. Its default of 30 seconds would be added to the promised
  // times.
  connectionsCheckingInterval: 500,
  // Node's own answer would not have the form of this service: see `isHostClear`.
  requireHostHeader: false,
} as const

interface ConnectionsOptions {
  /** Simultaneous connections. */
  readonly most: number
  /** Simultaneous connections of one address (in IPv6, of one /64), except trusted proxies. */
  readonly mostPerAddress: number
  readonly callers: CallerAddresses
  /** How long an idle connection stays open between requests. */
  readonly keepAliveMs: number
  /** Called for a connection that was closed at once. */
  onRefused(reason: 'all' | 'address'): void
}

/** The connections of one listener, which has a server for each of its addresses. */
export interface Connections {
  /** Limits the connections of a server from their first packet, before a handshake. */
  watch(server: Server): void
  /** The number of open connections. */
  count(): number
  /** Closes every connection, including those that the HTTP server does not know yet. */
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
 * Closes connections without progress: the peer does not read the answer, or sends no request. A
 * connection with a running request, or a stream between two events, stays open.
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
