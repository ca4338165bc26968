import type { Static } from 'typebox'
import { type ApprovalKind, guardedScopes } from '../../domain/approval.ts'
import type { ClientKind } from '../../domain/client.ts'
import type { ProblemError } from '../../domain/problem.ts'
import type { ClientRecord } from '../../operations/clients/clients.ts'
import type {
  ChangeClientSchema,
  CreateClientSchema,
  RotateSecretSchema,
} from './schemas/clients.ts'

/** The kinds of approval for a new client, by its kind, and for other credentials of one. */
const credentialKinds = {
  admin: 'administrator',
  network: 'network',
  client: 'client-credentials',
} as const satisfies Record<ClientKind, ApprovalKind>

const isGuarded = (scopes: readonly string[] = []): boolean =>
  guardedScopes.some((scope) => scopes.includes(scope))

/** Lists the kinds of approval that registering a client needs. */
export const listRegistrationKinds = ({
  kind,
  scopes,
}: Static<typeof CreateClientSchema>): readonly ApprovalKind[] => {
  if (kind !== 'client') return [credentialKinds[kind]]
  return isGuarded(scopes) ? ['disclosure-scopes'] : []
}

/** Lists the kinds of approval that changing a client needs. Removing rights needs none. */
export function listChangeKinds(
  before: ClientRecord,
  { active, certificateBoundTokens, jwks, scopes }: Static<typeof ChangeClientSchema>,
): readonly ApprovalKind[] {
  const hasCredentials = jwks !== undefined || certificateBoundTokens !== undefined
  if (before.kind !== 'client') {
    // Other keys mean another holder, and so does enabling the client again.
    const isAnother = hasCredentials || active === true || scopes !== undefined
    return isAnother ? [credentialKinds[before.kind]] : []
  }
  const isEnabled = active === true && !before.active && isGuarded(before.scopes)
  const added = scopes?.filter((scope) => !before.scopes.includes(scope))
  return [
    ...(isGuarded(added) || isEnabled ? (['disclosure-scopes'] as const) : []),
    ...(hasCredentials && isGuarded(before.scopes) ? ([credentialKinds.client] as const) : []),
  ]
}

/** Lists the kinds of approval that another secret of a client needs. */
export const listRotationKinds = ({ kind, scopes }: ClientRecord): readonly ApprovalKind[] =>
  kind !== 'client' || isGuarded(scopes) ? [credentialKinds[kind]] : []

interface NewCredentials {
  readonly jwks?: object
}

/** After an approval, no secret can be shown: a new client needs keys. */
export const findKeyFault = ({ jwks }: NewCredentials): ProblemError | null =>
  jwks === undefined
    ? { pointer: '/jwks', detail: 'must be given: no secret can be shown after an approval' }
    : null

/**
 * A client that holds no guarded scope gets its secret from one person, who may still know it. It
 * gets a guarded scope together with keys, which the approver compares with their owner.
 */
export const findScopeFault = (
  { authentication, kind, scopes: held }: ClientRecord,
  { jwks, scopes }: Static<typeof ChangeClientSchema>,
): ProblemError | null => {
  const isNewlyGuarded = kind === 'client' && isGuarded(scopes) && !isGuarded(held)
  if (!isNewlyGuarded || authentication !== 'client_secret' || jwks !== undefined) return null
  return {
    pointer: '/jwks',
    detail: 'must be given with these scopes: one person could set the secret of this client',
  }
}

/** After an approval, no secret can be shown: the requester sends the hash of a new one. */
export const findSecretHashFault = (
  body: Static<typeof RotateSecretSchema>,
): ProblemError | null =>
  body?.secretHash === undefined
    ? { pointer: '/secretHash', detail: 'must be given: no secret can be shown after an approval' }
    : null
