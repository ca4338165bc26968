import { connect as connectPlain, type Socket } from 'node:net'
import { connect as connectTls, type SecureContextOptions } from 'node:tls'

/** An address from the operator and its protocol. */
interface DialTarget {
  readonly host: string
  readonly port: number
  /** The own certificate and the trusted authorities; null without TLS. */
  readonly tls: SecureContextOptions | null
}

/** The time limit of a connection attempt. */
const connectTimeoutMs = 5_000

/**
 * Connects to a card network. An operator configures its address, so the address policy for client
 * systems (address-policy.ts) does not apply. When the peer closes its half, this half stays open.
 * @throws Error when no server answers, or its certificate does not match the address.
 */
export function dial({ host, port, tls }: DialTarget): Promise<Socket> {
  const { promise, reject, resolve } = Promise.withResolvers<Socket>()
  const target = { host, port, allowHalfOpen: true }
  const socket = tls
    ? connectTls({ ...tls, ...target, minVersion: 'TLSv1.2' })
    : connectPlain(target)
  const timer = setTimeout(() => socket.destroy(new Error('Nobody answered.')), connectTimeoutMs)
  socket.once('error', reject)
  socket.once(tls ? 'secureConnect' : 'connect', () => {
    socket.off('error', reject)
    resolve(socket)
  })
  return promise.finally(() => clearTimeout(timer))
}
