import * as clientRules from '../../domain/client.ts'
import { freeTextFault } from '../../domain/free-text.ts'
import type { ProductId } from '../../domain/identifiers.ts'
import type { ProblemError } from '../../domain/problem.ts'
import type { Connection } from '../../storage/engine/database.ts'
import { listKnownProductIds } from '../../storage/products/products.ts'
import { parseClientJwks } from './credentials.ts'

/** The members of a client that an administrator sets; absent members do not change. */
export interface ClientDraft {
  readonly clientName?: string
  readonly scopes?: readonly string[]
  /** A JWK or a JWK Set. */
  readonly jwks?: object
  readonly productIds?: readonly ProductId[]
  readonly active?: boolean
  readonly certificateBoundTokens?: boolean
}

/** Every fault of a draft, and its keys in the stored form: null if it has none. */
interface ValidatedClient {
  readonly faults: readonly ProblemError[]
  readonly jwks: string | null
}

/** Validates the given members of a client. */
export async function validateClient(
  connection: Connection,
  kind: clientRules.ClientKind,
  { certificateBoundTokens, clientName, jwks, productIds, scopes = [] }: ClientDraft,
  certificateListeners: ReadonlySet<clientRules.ListenerName>,
): Promise<ValidatedClient> {
  const keys = parseKeys(jwks)
  const nameFault = clientName === undefined ? null : freeTextFault(clientName)
  // A scope that this kind of client can never use would be misleading.
  const allowedScopes = clientRules
    .listScopes(clientRules.selectListener(kind))
    .filter((scope) => clientRules.scopeKinds[scope] === kind)
  const scopeDetail = `must be a scope of this kind of client: ${allowedScopes.join(', ')}`
  // A client gets its token on the public listener and uses it on its own: both must request
  // certificates, or the client would be locked out.
  const listeners = certificateBoundTokens
    ? new Set(['public', clientRules.selectListener(kind)] as const)
    : []
  const faults = [
    ...(nameFault === null ? [] : [{ pointer: '/clientName', detail: nameFault }]),
    ...scopes.flatMap((scope, at) =>
      clientRules.isScope(scope) && allowedScopes.includes(scope)
        ? []
        : [{ pointer: `/scopes/${at}`, detail: scopeDetail }],
    ),
    ...('fault' in keys ? [keys.fault] : []),
    ...(await grantFaults(connection, kind, productIds)),
    ...[...listeners]
      .filter((listener) => !certificateListeners.has(listener))
      .map((listener) => ({
        pointer: '/certificateBoundTokens',
        detail: `needs client certificates, which the ${listener} listener does not request`,
      })),
  ]
  return { faults, jwks: 'fault' in keys ? null : keys.jwks }
}

function parseKeys(
  given: object | undefined,
): { readonly jwks: string | null } | { readonly fault: ProblemError } {
  try {
    return { jwks: given === undefined ? null : parseClientJwks(given) }
  } catch (error) {
    if (!(error instanceof TypeError)) throw error
    return { fault: { pointer: '/jwks', detail: error.message } }
  }
}

async function grantFaults(
  connection: Connection,
  kind: clientRules.ClientKind,
  productIds: readonly ProductId[] = [],
): Promise<readonly ProblemError[]> {
  if (productIds.length === 0) return []
  if (kind !== 'client') return [{ pointer: '/productIds', detail: 'are for client systems only' }]
  const known = await listKnownProductIds(connection, productIds)
  return productIds
    .map((productId, at) => ({ productId, at }))
    .filter(({ productId }) => !known.includes(productId))
    .map(({ at }) => ({ pointer: `/productIds/${at}`, detail: 'must be the id of a product' }))
}
