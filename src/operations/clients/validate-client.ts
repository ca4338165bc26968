import {
  type ClientKind,
  isScope,
  type ListenerName,
  listenerOf,
  scopeListeners,
  scopesOf,
} from '../../domain/client.ts'
import { freeTextFault } from '../../domain/free-text.ts'
import type { ProblemError } from '../../domain/problem.ts'
import { listKnownProductIds } from '../../storage/clients/products.ts'
import type { Connection } from '../../storage/engine/database.ts'
import { parseClientJwks } from './credentials.ts'

/** What an administrator sets of a client; what is not given stays. */
export interface ClientDraft {
  readonly clientName?: string
  readonly scopes?: readonly string[]
  /** A JWK or a JWK Set. */
  readonly jwks?: object
  readonly productIds?: readonly number[]
  readonly active?: boolean
  readonly certificateBoundTokens?: boolean
}

/** What is stored of a client's keys, or what is wrong with them. */
type ParsedKeys = { readonly jwks: string | null } | { readonly fault: ProblemError }

export function parseClientKeys(given: object | undefined): ParsedKeys {
  if (given === undefined) return { jwks: null }
  try {
    return { jwks: parseClientJwks(given) }
  } catch (error) {
    if (!(error instanceof TypeError)) throw error
    return { fault: { pointer: '/jwks', detail: error.message } }
  }
}

/** Everything that is wrong with what is given of a client, at once. */
export async function findClientFaults(
  connection: Connection,
  kind: ClientKind,
  { certificateBoundTokens, clientName, jwks, productIds, scopes }: ClientDraft,
  certificateListeners: ReadonlySet<ListenerName>,
): Promise<readonly ProblemError[]> {
  const keys = parseClientKeys(jwks)
  const nameFault = clientName === undefined ? null : freeTextFault(clientName)
  return [
    ...(nameFault === null ? [] : [{ pointer: '/clientName', detail: nameFault }]),
    ...(scopes ?? []).flatMap((scope, at) => scopeFaults(kind, scope, at)),
    ...('fault' in keys ? [keys.fault] : []),
    ...(await grantFaults(connection, kind, productIds)),
    ...(certificateBoundTokens ? bindingFaults(kind, certificateListeners) : []),
  ]
}

/** A token is asked on the public listener and used on the client's own: elsewhere it would be locked out. */
function bindingFaults(
  kind: ClientKind,
  certificateListeners: ReadonlySet<ListenerName>,
): readonly ProblemError[] {
  const needed: readonly ListenerName[] = ['public', listenerOf(kind)]
  const lacking = [...new Set(needed)].filter((listener) => !certificateListeners.has(listener))
  return lacking.map((listener) => ({
    pointer: '/certificateBoundTokens',
    detail: `needs client certificates, which the ${listener} listener does not ask for`,
  }))
}

function scopeFaults(kind: ClientKind, scope: string, at: number): readonly ProblemError[] {
  const allowed = scopesOfKind(kind)
  if (isScope(scope) && allowed.includes(scope)) return []
  const detail = `must be a scope of this kind of client: ${allowed.join(', ')}`
  return [{ pointer: `/scopes/${at}`, detail }]
}

/** Scopes that a kind of client may have: one that it could never use would only mislead. */
const scopesOfKind = (kind: ClientKind): readonly string[] =>
  scopesOf(listenerOf(kind)).filter(
    (scope) => scopeListeners[scope] === 'public' || (scope === 'admin') === (kind === 'admin'),
  )

async function grantFaults(
  connection: Connection,
  kind: ClientKind,
  productIds: readonly number[] | undefined,
): Promise<readonly ProblemError[]> {
  if (productIds === undefined || productIds.length === 0) return []
  if (kind !== 'client') return [{ pointer: '/productIds', detail: 'are for client systems' }]
  const known = await listKnownProductIds(connection, productIds)
  return productIds
    .map((productId, at) => ({ productId, at }))
    .filter(({ productId }) => !known.includes(productId))
    .map(({ at }) => ({ pointer: `/productIds/${at}`, detail: 'must be the id of a product' }))
}
