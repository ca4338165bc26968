import { createHash, timingSafeEqual, type X509Certificate } from 'node:crypto'
import type { Socket } from 'node:net'
import { TLSSocket } from 'node:tls'
import { invalidToken } from './access-token-verifier.ts'

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

/**
 * The thumbprint of the certificate that a token is bound to, by its `cnf` claim (RFC 7800 section 3.1,
 * RFC 8705 section 3.1). Null: the token is not bound.
 * @throws Problem `unauthenticated` where it is bound to what cannot be checked here
 */
export function boundThumbprint(confirmation: unknown): string | null {
  if (confirmation === undefined) return null
  const members: Readonly<Record<string, unknown>> = Object(confirmation)
  const thumbprint = members['x5t#S256']
  const isOnly = Object.keys(members).length === 1
  if (isOnly && typeof thumbprint === 'string' && isThumbprint.test(thumbprint)) return thumbprint
  throw invalidToken()
}

const isThumbprint = /^[A-Za-z0-9_-]{43}$/

/**
 * Holds a bound token against the connection that it came by.
 * @param presented the thumbprint of the connection's certificate, if it has one
 * @throws Problem `unauthenticated`
 */
export function requireCertificate(bound: string | null, presented: string | null): void {
  if (bound === null) return
  const isThere = presented !== null && presented.length === bound.length
  if (!isThere || !timingSafeEqual(Buffer.from(bound), Buffer.from(presented))) {
    throw invalidToken()
  }
}
