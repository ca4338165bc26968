import type { IncomingMessage, ServerResponse } from 'node:http'
import type { JWK } from 'jose'
import type { Connection } from '../storage/database.ts'
import type { Listener } from './scopes.ts'
import type { TokenSigningKey } from './token-signing-key.ts'

export interface AuthorizationServerOptions {
  /** `BASE_URL`: https, or http on loopback; no query, no fragment, no slash at its end. */
  readonly issuer: string
  /** `aud` of the tokens for each listener: absolute URIs without fragment (RFC 8707 section 2). */
  readonly audiences: Readonly<Record<Listener, string>>
  readonly database: Connection
  /** At least one. The first signs, all are published. */
  readonly signingKeys: readonly TokenSigningKey[]
  /** Told of what was answered with 500 or 503, for the log. */
  onError(error: unknown): void
}

export interface AuthorizationServer {
  /**
   * Answers the three paths below, and 404 on every other.
   * @param body what was read of the request already; left out, it is read from the request.
   */
  handle(request: IncomingMessage, response: ServerResponse, body?: Uint8Array): Promise<void>
  /** The public part of every signing key, for a verifier in this process. */
  readonly publicKeys: readonly JWK[]
}

/** What the server answers. */
export const authorizationServerPaths = {
  token: '/oauth/token',
  jwks: '/oauth/jwks',
  metadata: '/.well-known/oauth-authorization-server',
} as const

export function createAuthorizationServer(
  _options: AuthorizationServerOptions,
): AuthorizationServer {
  throw new Error('not yet')
}
