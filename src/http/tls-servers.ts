import type { RequestListener, Server } from 'node:http'
import { createServer, type Server as HttpsServer } from 'node:https'
import type { SecureContextOptions, TLSSocket } from 'node:tls'
import { peerTimeoutMs, serverRules } from './connections.ts'

/** What a listener proves itself with, and whose certificates it trusts. */
export type TlsIdentity = Pick<SecureContextOptions, 'cert' | 'key' | 'ca'>

/** Makes the servers of one listener: of `localhost` it has one for each address. */
export interface TlsServers {
  create(handler: RequestListener): Server
  /** From now on new connections see this identity. Established ones live on. */
  replace(identity: TlsIdentity): void
}

export interface TlsServersOptions {
  readonly identity: TlsIdentity
  readonly clientCertificates: 'off' | 'optional' | 'required'
  readonly headerLimit: number
  /** Told of a connection that did not become one, by the code of its reason. */
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
  let current = contextOf(options.identity)
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
      server.on('tlsClientError', (error, socket) => options.onFailure(reasonOf(error, socket)))
      servers.add(server)
      server.once('close', () => servers.delete(server))
      return server as unknown as Server
    },
    replace(identity) {
      current = contextOf(identity)
      // The server forgets what it is not told again, so that it gets the whole context.
      for (const server of servers) server.setSecureContext(current)
    },
  }
}

const contextOf = (identity: TlsIdentity): SecureContextOptions => ({
  ...identity,
  minVersion: 'TLSv1.2',
  ciphers,
  honorCipherOrder: true,
})

/** Why a certificate was refused, else why there was no handshake. */
const reasonOf = (error: NodeJS.ErrnoException, socket: TLSSocket): string =>
  String(socket.authorizationError ?? error.code ?? error.name)
