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
  /** Whether the token endpoint asks callers for a certificate: then tokens can be bound to it. */
  readonly bindsTokens: boolean
  /** Told of what went wrong on this side, for the log: a 500, a 503, a registered key of no use. */
  onError(error: unknown): void
}
