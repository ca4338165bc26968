import type { JWK } from 'jose'
import type { Client, ClientKind } from '../storage/clients.ts'
import type { Listener } from './scopes.ts'

/** Who calls, as the access token and the register say it together. */
export interface Caller {
  readonly clientId: string
  readonly kind: ClientKind
  /** What the token grants and the client is registered for. */
  readonly scopes: ReadonlySet<string>
  /** When the token expires: a stream opened with it ends here. */
  readonly expiresAt: Date
}

export interface AccessTokenVerifierOptions {
  readonly issuer: string
  readonly audience: string
  /** Clients of a kind that belongs to the other listener are refused. */
  readonly listener: Listener
  /** The embedded issuer's keys, or where to discover those of an outside issuer. */
  readonly keys: readonly JWK[] | { readonly discoverFrom: string }
  /** The claim that names the client; `client_id` (RFC 9068 section 2.2) unless given. */
  readonly clientClaim?: string
  findClient(clientId: string): Promise<Client | null>
  /** The clock of the machine, never a movable one: tokens are dated by it. */
  now?(): Date
  /** How an outside issuer is asked; the global `fetch` unless given. */
  readonly fetch?: typeof globalThis.fetch
}

export interface AccessTokenVerifier {
  /**
   * Who sent this `Authorization` header (RFC 6750 section 2.1).
   * @throws Problem `unauthenticated`, or `unavailable` when the database or the issuer is away.
   */
  verify(authorizationHeader: string | undefined): Promise<Caller>
}

export function createAccessTokenVerifier(
  _options: AccessTokenVerifierOptions,
): AccessTokenVerifier {
  throw new Error('not yet')
}
