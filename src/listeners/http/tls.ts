import { createHash, type X509Certificate } from 'node:crypto'
import type { RequestListener, Server } from 'node:http'
import { createServer, type Server as HttpsServer } from 'node:https'
import type { Socket } from 'node:net'
import { type SecureContextOptions, TLSSocket } from 'node:tls'
import { findRsaFault } from '../../domain/rsa-key.ts'
import { peerTimeoutMs, serverRules } from './connections.ts'

/** What a listener proves itself with, and whose certificates it trusts. */
export type TlsIdentity = Pick<SecureContextOptions, 'cert' | 'key' | 'ca'>

/** Makes the servers of one listener: of `localhost` it has one for each address. */
export interface TlsServers {
  create(handler: RequestListener): Server
  /** From now on new connections see this identity. Established ones live on. */
  replace(identity: TlsIdentity): void
}

interface TlsServersOptions {
  readonly identity: TlsIdentity
  readonly clientCertificates: 'off' | 'optional' | 'required'
  readonly headerLimit: number
  /** Called for a connection that was not established, with the code of the reason. */
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

/** Makes HTTPS servers whose identity can be replaced while they serve. */
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
          // Where it is optional, one that its authority did not issue counts as none.
          rejectUnauthorized: options.clientCertificates === 'required',
        },
        handler,
      )
      server.on('tlsClientError', (error: NodeJS.ErrnoException, socket) => {
        // Why a certificate was refused, else why there was no handshake.
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
      // Fastify takes a TLS server where its types name one of node:http.
      return server as unknown as Server
    },
    replace(identity) {
      current = createContextOptions(identity)
      // The server forgets what it is not given again, so that it gets the whole context.
      for (const server of servers) server.setSecureContext(current)
    },
  }
}

/** Returns the TLS options of a connection, for either side of it. */
export const createContextOptions = (identity: TlsIdentity): SecureContextOptions => ({
  ...identity,
  minVersion: 'TLSv1.2',
  ciphers,
  honorCipherOrder: true,
})

/**
 * Returns the certificate whose key the caller proved to have, issued by an authority that the
 * listener trusts; null when there is no such certificate.
 */
export function findClientCertificate(socket: Socket | null): X509Certificate | null {
  if (!(socket instanceof TLSSocket) || !socket.authorized) return null
  const certificate = socket.getPeerX509Certificate()
  // OpenSSL takes an exponent of 1, with which anybody can seem to have the private key.
  return certificate && findRsaFault(certificate.publicKey) === null ? certificate : null
}

const thumbprints = new WeakMap<Socket, string | null>()

/**
 * The thumbprint of that certificate (RFC 8705 section 3.1): SHA-256 of its DER, base64url. A
 * connection keeps its certificate as long as it lives, so it is computed once.
 */
export function computeClientThumbprint(socket: Socket): string | null {
  const known = thumbprints.get(socket)
  if (known !== undefined) return known
  const certificate = findClientCertificate(socket)
  const thumbprint = certificate && createHash('sha256').update(certificate.raw).digest('base64url')
  thumbprints.set(socket, thumbprint)
  return thumbprint
}
