import { createHash, type X509Certificate } from 'node:crypto'
import type { Socket } from 'node:net'
import { TLSSocket } from 'node:tls'

/**
 * The certificate that the caller's end of a connection proved to have, issued by an authority that
 * the listener trusts. Null: there is none, or another one.
 */
export const clientCertificateOf = (socket: Socket | null): X509Certificate | null =>
  socket instanceof TLSSocket && socket.authorized
    ? (socket.getPeerX509Certificate() ?? null)
    : null

const thumbprints = new WeakMap<Socket, string | null>()

/**
 * The thumbprint of that certificate (RFC 8705 section 3.1): SHA-256 of its DER, base64url. A connection
 * keeps its certificate as long as it lives, so it is computed once.
 */
export function clientThumbprintOf(socket: Socket): string | null {
  const known = thumbprints.get(socket)
  if (known !== undefined) return known
  const certificate = clientCertificateOf(socket)
  const thumbprint = certificate && createHash('sha256').update(certificate.raw).digest('base64url')
  thumbprints.set(socket, thumbprint)
  return thumbprint
}
