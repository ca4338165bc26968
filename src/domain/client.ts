/** Whether a text can be a client id: 1 to 64 visible ASCII characters. */
export const isClientId = (text: unknown): text is string =>
  typeof text === 'string' && /^[\x21-\x7e]{1,64}$/.test(text)

/**
 * The caller and the request id: a client system, a network or an operator, as the access token
 * states.
 */
export interface Requester {
  readonly clientId: string
  readonly requestId: string
  /** The approver, if the request is executed after an approval. */
  readonly approvedBy?: string | null
  /** The reason in the request, which is recorded with the act; null without one. */
  readonly reason?: string | null
}

/** The two listeners. Each is an audience of its own for access tokens. */
export type ListenerName = 'public' | 'private'

/**
 * `client` is a client system on the public listener. The other kinds call the private listener.
 */
export type ClientKind = 'client' | 'network' | 'admin'

/** The scopes, and the only kind of client that can have each. Null: only people can have it. */
export const scopeKinds = {
  'cards.read': 'client',
  'cards.write': 'client',
  'cards.encrypted': 'client',
  'pin.encrypted': 'client',
  'pin.read': 'client',
  'pin.reveal': 'client',
  'pin.write': 'client',
  'cvv.read': 'client',
  'cvv.write': 'client',
  'payments.read': 'client',
  'decisions.write': 'client',
  'events.read': 'client',
  'webhooks.write': 'client',
  'simulator.write': 'client',
  'authorizations.write': 'network',
  admin: 'admin',
  'support.read': 'admin',
  'support.write': 'admin',
  'support.pan': 'admin',
  'bureau.write': 'admin',
  'audit.read': 'admin',
  'keys.read': 'admin',
  'keys.write': 'admin',
  approve: null,
} as const satisfies Record<string, ClientKind | null>

export type Scope = keyof typeof scopeKinds

/** Whether a text names a scope of this service. */
export const isScope = (text: string): text is Scope => Object.hasOwn(scopeKinds, text)

/** Returns the only listener on which a scope has a meaning. */
export const selectScopeListener = (scope: Scope): ListenerName =>
  scopeKinds[scope] === 'client' ? 'public' : 'private'

/** Lists all scopes, or those of one listener, in the order of the table. */
export const listScopes = (listener?: ListenerName): Scope[] =>
  Object.keys(scopeKinds)
    .filter(isScope)
    .filter((scope) => listener === undefined || selectScopeListener(scope) === listener)

/** Returns the only listener that a client of this kind calls. */
export const selectListener = (kind: ClientKind): ListenerName =>
  kind === 'client' ? 'public' : 'private'

/** How a client authenticates: with its secret, with its keys, or at an external issuer. */
export type ClientAuthentication = 'client_secret' | 'private_key_jwt' | 'none'

/** Returns how a client with these credentials authenticates. */
export const selectAuthentication = ({
  hasSecret,
  jwks,
}: {
  readonly hasSecret: boolean
  readonly jwks: string | null
}): ClientAuthentication => {
  if (jwks !== null) return 'private_key_jwt'
  return hasSecret ? 'client_secret' : 'none'
}

/**
 * The allowed signature algorithms of client assertions (RFC 7518, RFC 8037, RFC 9864). None uses a
 * shared secret.
 */
export const assertionAlgorithms = ['ES256', 'PS256', 'EdDSA', 'Ed25519', 'RS256'] as const

/** An act that enables a person to act as a client, or that confirms that no other person can. */
export interface ProvenanceAct {
  /**
   * `created`: registered the client. `credentials_set`: issued its secret, keys or access.
   * `confirmed`: verified that only the owner of the client holds its credentials. `approved`:
   * approved the registration or the credentials.
   */
  readonly act: 'created' | 'credentials_set' | 'confirmed' | 'approved'
  readonly by: string
  /** The administrators who could have acted as the acting client at that time, itself included. */
  readonly controlledBy: readonly string[]
}

/**
 * Lists the administrators who could act as a client without another person: the client itself, and
 * those who registered it, issued its credentials, or controlled one that did. A confirmation
 * removes the earlier ones, except those who control the confirming administrator: they could have
 * made the confirmation alone.
 * @param provenance in the order of time.
 */
export const listControllers = (
  clientId: string,
  provenance: readonly ProvenanceAct[],
): readonly string[] =>
  listParties(
    clientId,
    provenance.filter(({ act }) => act !== 'approved'),
  )

/**
 * Lists the people who cannot approve requests of a client: its controllers, and the people who
 * approved its registration or credentials. A confirmation removes the earlier approvers, as it
 * does the controllers.
 */
export function listParties(
  clientId: string,
  provenance: readonly ProvenanceAct[],
): readonly string[] {
  const others = provenance.flatMap(({ act, controlledBy }, at) => {
    if (act === 'confirmed') return []
    const confirmations = provenance.slice(at).filter((later) => later.act === 'confirmed')
    return controlledBy.filter((id) =>
      confirmations.every((confirmation) => confirmation.controlledBy.includes(id)),
    )
  })
  return [...new Set([clientId, ...others])].sort()
}

/** Returns who registered a client (null for the configuration) and who confirmed it. */
export const describeOrigin = (provenance: readonly ProvenanceAct[]) => ({
  createdBy: provenance.find(({ act }) => act === 'created')?.by ?? null,
  confirmedBy: provenance.filter(({ act }) => act === 'confirmed').map(({ by }) => by),
})
