import { hash } from 'node:crypto'
import type { Scope } from './client.ts'

/** The roles of operators. One person may have several. */
export const roles = [
  'viewer',
  'support',
  'support-lead',
  'key-officer',
  'security-officer',
  'auditor',
  'developer',
] as const
export type Role = (typeof roles)[number]

/**
 * What each role may do: the scopes of the private listener that a person of it has, and no others.
 */
export const scopesByRole: Readonly<Record<Role, readonly Scope[]>> = {
  viewer: ['support.read'],
  support: ['support.read', 'support.write', 'support.pan'],
  'support-lead': ['support.read', 'support.write', 'support.pan', 'audit.read', 'approve'],
  'key-officer': ['keys.read', 'keys.write', 'approve'],
  'security-officer': ['admin', 'support.read', 'audit.read', 'keys.read', 'approve'],
  auditor: ['support.read', 'audit.read', 'keys.read'],
  developer: ['support.read', 'keys.read'],
}

/** Whether a text names a role. */
export const isRole = (text: string): text is Role => Object.hasOwn(scopesByRole, text)

/** A person who signed in with an issuer of identities (OpenID Connect Core 1.0, section 2). */
export interface Person {
  /**
   * Stands for issuer and subject wherever it is recorded who did something: a client id that no
   * client has.
   */
  readonly personId: string
  /** `iss` and `sub`: together, and alone, they say who it is. */
  readonly issuer: string
  readonly subject: string
  /** For other people to read. */
  readonly name: string
  readonly roles: readonly Role[]
  /** `auth_time`: when the issuer last made sure who it is. */
  readonly authenticatedAt: Date
}

const personPrefix = 'person-'

/**
 * Derives a person's id from issuer and subject. It never changes, and no two persons share one.
 */
export const derivePersonId = ({ issuer, subject }: Pick<Person, 'issuer' | 'subject'>): string =>
  // JSON, so that no two pairs are one text.
  `${personPrefix}${hash('sha256', JSON.stringify([issuer, subject]), 'hex').slice(0, 40)}`

/** Whether an id is a person's: no client may be registered under one. */
export const isPersonId = (id: string): boolean => id.startsWith(personPrefix)

/** Everything that a person may do, by all of its roles. */
export const listPersonScopes = ({ roles: held }: Pick<Person, 'roles'>): ReadonlySet<Scope> =>
  new Set(held.flatMap((role) => scopesByRole[role]))
