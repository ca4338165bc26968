import type { EndpointSettings } from '../../domain/decision.ts'
import * as stored from '../../storage/decisions/endpoints.ts'
import { listSigningKeys, type SigningKeyRow } from '../../storage/decisions/signing-keys.ts'
import type { Connection } from '../../storage/engine/database.ts'

/** A version of an endpoint as its client sees it. */
interface VersionRecord extends Omit<EndpointSettings, 'samplePercent'> {
  readonly version: number
  readonly sample: number
  readonly apiVersion: string
  readonly createdAt: string
}

/** A key that signs requests, without its secret. */
export interface SigningKeyRecord {
  readonly keyId: string
  readonly publicKey: string
  readonly createdAt: string
  /** Null for the present key. */
  readonly signsUntil: string | null
}

/** An endpoint with its versions. */
export interface VersionedEndpoint {
  readonly productId: number | null
  readonly draft: VersionRecord | null
  readonly enforced: VersionRecord | null
  readonly previous: VersionRecord | null
  readonly shadow: VersionRecord | null
  readonly degradedSince: string | null
  readonly changedAt: string
}

/** An endpoint with its versions and keys. */
export interface EndpointRecord extends VersionedEndpoint {
  readonly signingKeys: readonly SigningKeyRecord[]
}

/** Reads an endpoint; null if it has neither a draft nor a version in force. */
export async function readRecord(
  connection: Connection,
  reference: stored.EndpointReference,
): Promise<EndpointRecord | null> {
  const state = await stored.findEndpointState(connection, reference)
  const versions = await stored.listEndpointVersions(connection, reference)
  if (!state || versions.length === 0) return null
  const { clientId, productId } = reference
  return {
    ...describeEndpoint({ productId, state, versions }),
    signingKeys: (await listSigningKeys(connection, clientId)).map(signingKeyRecord),
  }
}

/** Describes an endpoint, without the keys that all endpoints of a client share. */
export function describeEndpoint({
  productId,
  state,
  versions,
}: stored.EndpointWithVersions): VersionedEndpoint {
  const find = (version: number | null): VersionRecord | null => {
    const row = versions.find((each) => each.version === version)
    return row ? versionRecord(row) : null
  }
  return {
    productId,
    draft: find(state.draftVersion),
    enforced: find(state.enforcedVersion),
    previous: find(state.previousVersion),
    shadow: find(state.shadowVersion),
    degradedSince: state.degradedSince?.toISOString() ?? null,
    changedAt: state.changedAt.toISOString(),
  }
}

const versionRecord = (row: stored.RegisteredEndpoint): VersionRecord => ({
  version: row.version,
  url: row.url,
  timeoutMs: row.timeoutMs,
  maxInFlight: row.maxInFlight,
  fallback: row.fallback,
  mode: row.mode,
  sample: row.samplePercent,
  format: row.format,
  apiVersion: row.apiVersion,
  createdAt: row.createdAt.toISOString(),
})

export const signingKeyRecord = ({
  createdAt,
  keyId,
  publicKey,
  signsUntil,
}: Omit<SigningKeyRow, 'sealedKeys'>): SigningKeyRecord => ({
  keyId,
  publicKey,
  createdAt: createdAt.toISOString(),
  signsUntil: signsUntil?.toISOString() ?? null,
})
