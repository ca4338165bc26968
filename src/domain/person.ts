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

/** The scopes of the private listener that each role grants. */
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

/** A person who signed in with an OpenID Connect issuer (OpenID Connect Core 1.0, section 2). */
export interface Person {
  /**
   * Identifies the person in every record, derived from issuer and subject. No client has such an
   * id.
   */
  readonly personId: string
  /** `iss` and `sub`. Only both together identify the person. */
  readonly issuer: string
  readonly subject: string
  /** The name for display. */
  readonly name: string
  readonly roles: readonly Role[]
  /** `auth_time`: when the issuer last authenticated the person. */
  readonly authenticatedAt: Date
}

const personPrefix = 'person-'

/** Derives the id of a person from issuer and subject. It never changes, and is unique. */
export const derivePersonId = ({ issuer, subject }: Pick<Person, 'issuer' | 'subject'>): string =>
  // JSON gives each pair a distinct text.
  `${personPrefix}${hash('sha256', JSON.stringify([issuer, subject]), 'hex').slice(0, 40)}`

/** Whether an id is the id of a person. No client can be registered under one. */
export const isPersonId = (id: string): boolean => id.startsWith(personPrefix)

/** Lists the scopes that all roles of a person grant. */
export const listPersonScopes = ({ roles: held }: Pick<Person, 'roles'>): ReadonlySet<Scope> =>
  new Set(held.flatMap((role) => scopesByRole[role]))
