import { createHash, type X509Certificate } from 'node:crypto'
import type { RequestListener, Server } from 'node:http'
import { createServer, type Server as HttpsServer } from 'node:https'
import type { Socket } from 'node:net'
import { type SecureContextOptions, TLSSocket } from 'node:tls'
import { findRsaFault } from '../../domain/rsa-key.ts'
import { peerTimeoutMs, serverRules } from './connections.ts'

/** The certificate and key of a listener, and the authorities that it trusts. */
export type TlsIdentity = Pick<SecureContextOptions, 'cert' | 'key' | 'ca'>

/** Creates the servers of one listener: `localhost` has one for each address. */
export interface TlsServers {
  create(handler: RequestListener): Server
  /** New connections use this identity. Established ones stay. */
  replace(identity: TlsIdentity): void
}

interface TlsServersOptions {
  readonly identity: TlsIdentity
  readonly clientCertificates: 'off' | 'optional' | 'required'
  readonly headerLimit: number
  /** Called with the reason code for a connection that could not be established. */
  onFailure(code: string): void
}

/** RFC 9325 section 4.2: forward secret, authenticated. TLS 1.3 has no others. */
const ciphers = [
  'TLS_AES_256_GCM_SHA384',
  'TLS_CHACHA20_POLY1305_SHA256',
  'TLS_AES_128_GCM_SHA256',
  'ECDHE-ECDSA-AES256-GCM-SHA384',
  'ECDHE-RSA-AES256-GCM-SHA384',
  'ECDHE-ECDSA-AES128-GCM-SHA256',
  'ECDHE-RSA-AES128-GCM-SHA256',
].join(':')

/** Creates HTTPS servers whose identity can be replaced while they run. */
export function tlsServers(options: TlsServersOptions): TlsServers {
  let current = createContextOptions(options.identity)
  const servers = new Set<HttpsServer>()
  return {
    create(handler) {
      const server = createServer(
        {
          ...current,
          ...serverRules,
          maxHeaderSize: options.headerLimit,
          handshakeTimeout: peerTimeoutMs,
          requestCert: options.clientCertificates !== 'off',
          // If certificates are optional, one from another authority counts as none.
          rejectUnauthorized: options.clientCertificates === 'required',
        },
        handler,
      )
      server.on('tlsClientError', (error: NodeJS.ErrnoException, socket) => {
        // The reason for rejecting a certificate, or otherwise the failure of the handshake.
        options.onFailure(String(socket.authorizationError ?? error.code ?? error.name))
      })
      if (options.clientCertificates === 'required') {
        server.on('secureConnection', (socket) => {
          if (findClientCertificate(socket)) return
          options.onFailure('ERR_WEAK_CLIENT_KEY')
          socket.destroy()
        })
      }
      servers.add(server)
      server.once('close', () => servers.delete(server))
      // Fastify accepts a TLS server, although its types name one of node:http.
      return server as unknown as Server
    },
    replace(identity) {
      current = createContextOptions(identity)
      // The server resets options that are not given again, so it gets the whole context.
      for (const server of servers) server.setSecureContext(current)
    },
  }
}

/** Returns the TLS options of a connection, for either side. */
export const createContextOptions = (identity: TlsIdentity): SecureContextOptions => ({
  ...identity,
  minVersion: 'TLSv1.2',
  ciphers,
  honorCipherOrder: true,
})

/**
 * Returns the caller's verified certificate from an authority that the listener trusts; null if
 * there is no such certificate.
 */
export function findClientCertificate(socket: Socket | null): X509Certificate | null {
  if (!(socket instanceof TLSSocket) || !socket.authorized) return null
  const certificate = socket.getPeerX509Certificate()
  // OpenSSL accepts an exponent of 1, with which anyone can impersonate the key's owner.
  return certificate && findRsaFault(certificate.publicKey) === null ? certificate : null
}

const thumbprints = new WeakMap<Socket, string | null>()

/**
 * Returns the thumbprint of that certificate (RFC 8705 section 3.1): SHA-256 of its DER, base64url.
 * The certificate of a connection does not change, so the thumbprint is computed once.
 */
export function computeClientThumbprint(socket: Socket): string | null {
  const known = thumbprints.get(socket)
  if (known !== undefined) return known
  const certificate = findClientCertificate(socket)
  const thumbprint = certificate && createHash('sha256').update(certificate.raw).digest('base64url')
  thumbprints.set(socket, thumbprint)
  return thumbprint
}
