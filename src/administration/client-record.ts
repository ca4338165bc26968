import { controllersOf, originOf } from '../domain/provenance.ts'
import type { AdministeredClient } from '../storage/administered-clients.ts'
import type { ClientKind } from '../storage/clients.ts'

/** A client as it is told to an administrator. */
export interface ClientRecord {
  readonly clientId: string
  readonly clientName: string
  readonly kind: ClientKind
  readonly scopes: readonly string[]
  readonly active: boolean
  /** How it proves who it is. */
  readonly authentication: 'client_secret' | 'private_key_jwt' | 'none'
  /** Its public keys, a JWK Set (RFC 7517 section 5). */
  readonly jwks: JwkSet | null
  /** Until when the secret before the last rotation is taken. */
  readonly previousSecretUntil: string | null
  /** Whether its tokens are good on connections with its TLS certificate alone (RFC 8705). */
  readonly certificateBoundTokens: boolean
  readonly productIds: readonly number[]
  readonly createdAt: string
  /** Who registered it; null where it comes from the configuration or the sandbox. */
  readonly createdBy: string | null
  /** Which credentials it has: one more each time that it is given others. */
  readonly credentialsVersion: number
  /** Administrators who made sure that its credentials are held by the person they are for. */
  readonly confirmedBy: readonly string[]
  /** Other administrators who count as able to act for it. */
  readonly controlledBy: readonly string[]
  /** Since when its webhooks get nothing, as it is disabled or has lost the scopes; null where they do. */
  readonly deliveriesSuspendedSince: string | null
}

export interface JwkSet {
  readonly keys: readonly Readonly<Record<string, string>>[]
}

export const clientRecord = ({
  createdAt,
  deliveriesSuspendedSince,
  formerCredentialsUntil: _,
  provenance,
  hasSecret,
  jwks,
  previousSecretUntil,
  ...client
}: AdministeredClient): ClientRecord => ({
  ...client,
  authentication: jwks !== null ? 'private_key_jwt' : hasSecret ? 'client_secret' : 'none',
  jwks: jwks === null ? null : (JSON.parse(jwks) as JwkSet),
  previousSecretUntil: previousSecretUntil?.toISOString() ?? null,
  createdAt: createdAt.toISOString(),
  ...originOf(provenance),
  controlledBy: controllersOf(client.clientId, provenance).filter((id) => id !== client.clientId),
  deliveriesSuspendedSince: deliveriesSuspendedSince?.toISOString() ?? null,
})
