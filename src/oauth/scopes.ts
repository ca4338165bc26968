import type { ClientKind } from '../storage/clients.ts'

/** The two listeners, each an audience of its own for access tokens. */
export type Listener = 'public' | 'private'

/** Every scope, and the only listener where it means something. */
export const scopeListeners = {
  'cards.read': 'public',
  'cards.write': 'public',
  'cards.encrypted': 'public',
  'pin.encrypted': 'public',
  'pin.read': 'public',
  'pin.reveal': 'public',
  'pin.write': 'public',
  'cvv.read': 'public',
  'cvv.write': 'public',
  'events.read': 'public',
  'webhooks.write': 'public',
  'simulator.write': 'public',
  'authorizations.write': 'private',
  admin: 'private',
} as const satisfies Record<string, Listener>

export type Scope = keyof typeof scopeListeners

/** Whether a text names a scope of this service. */
export const isScope = (text: string): text is Scope => Object.hasOwn(scopeListeners, text)

/** All scopes, or those of one listener, in the order of the table. */
export const scopesOf = (listener?: Listener): Scope[] =>
  Object.keys(scopeListeners)
    .filter(isScope)
    .filter((scope) => listener === undefined || scopeListeners[scope] === listener)

const kindListeners: Record<ClientKind, Listener> = {
  client: 'public',
  network: 'private',
  admin: 'private',
}

/** The only listener that a client of this kind calls. */
export const listenerOf = (kind: ClientKind): Listener => kindListeners[kind]
