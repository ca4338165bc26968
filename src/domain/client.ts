/** Whether a text can be a client id: 1 to 64 visible ASCII characters. */
export const isClientId = (text: unknown): text is string =>
  typeof text === 'string' && /^[\x21-\x7e]{1,64}$/.test(text)

/**
 * Who asks, as the access token says, and under which request id: a client system, a network, an
 * operator.
 */
export interface Requester {
  readonly clientId: string
  readonly requestId: string
  /** The person who approved it, where it is carried out after an approval. */
  readonly approvedBy?: string | null
}

/** The two listeners, each an audience of its own for access tokens. */
export type ListenerName = 'public' | 'private'

/** `client`: a client system on the public listener. The others belong to the private one. */
export type ClientKind = 'client' | 'network' | 'admin'

/** Every scope, and the only kind of client that may have it. Null: a person alone may. */
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
  'events.read': 'client',
  'webhooks.write': 'client',
  'simulator.write': 'client',
  'authorizations.write': 'network',
  admin: 'admin',
  'support.read': 'admin',
  'support.write': 'admin',
  'support.pan': 'admin',
  'audit.read': 'admin',
  'keys.read': 'admin',
  'keys.write': 'admin',
  approve: null,
} as const satisfies Record<string, ClientKind | null>

export type Scope = keyof typeof scopeKinds

/** Whether a text names a scope of this service. */
export const isScope = (text: string): text is Scope => Object.hasOwn(scopeKinds, text)

/** The only listener where a scope means something. */
export const selectScopeListener = (scope: Scope): ListenerName =>
  scopeKinds[scope] === 'client' ? 'public' : 'private'

/** All scopes, or those of one listener, in the order of the table. */
export const listScopes = (listener?: ListenerName): Scope[] =>
  Object.keys(scopeKinds)
    .filter(isScope)
    .filter((scope) => listener === undefined || selectScopeListener(scope) === listener)

/** The only listener that a client of this kind calls. */
export const selectListener = (kind: ClientKind): ListenerName =>
  kind === 'client' ? 'public' : 'private'

/** How a client proves who it is: with its secret, with its keys, or to another issuer. */
export type ClientAuthentication = 'client_secret' | 'private_key_jwt' | 'none'

/** How a client with these credentials proves who it is. */
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
 * What a client's assertion may be signed with (RFC 7518, RFC 8037, RFC 9864); never a shared
 * secret.
 */
export const assertionAlgorithms = ['ES256', 'PS256', 'EdDSA', 'Ed25519', 'RS256'] as const

/** An act that lets a person act for a client, or that confirms that they cannot. */
export interface ProvenanceAct {
  /**
   * `created`: registered it; `credentials_set`: gave it its secret, keys or access; `confirmed`:
   * made sure that its credentials are in the hands of the one it stands for, and by nobody else;
   * `approved`: let another person register it or give it credentials.
   */
  readonly act: 'created' | 'credentials_set' | 'confirmed' | 'approved'
  readonly by: string
  /** Everybody who could have acted for that one then, itself among them. */
  readonly controlledBy: readonly string[]
}

/**
 * Every administrator who alone could act for a client: itself; and who registered it, gave it
 * credentials, or could have acted for one who did. A confirmation takes away all of these from
 * before it who could not have acted for the one who confirmed, too: alone they cannot have made it
 * up.
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
 * Everyone who approves nothing that a client requests: its controllers, and the people who
 * approved its registration or its credentials. A confirmation takes these away as it does the
 * controllers, but only those from before it.
 * @param provenance in the order of time.
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

/** Returns who registered a client, null when the configuration did, and who confirmed it. */
export const describeOrigin = (provenance: readonly ProvenanceAct[]) => ({
  createdBy: provenance.find(({ act }) => act === 'created')?.by ?? null,
  confirmedBy: provenance.filter(({ act }) => act === 'confirmed').map(({ by }) => by),
})
