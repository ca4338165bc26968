import { isRole, type Role } from '../../domain/person.ts'
import type { VariableReader } from './variables.ts'

/** The operators' issuer of identities and the console's credentials for it. */
export interface ConsoleIssuer {
  readonly issuer: string
  readonly clientId: string
  /**
   * The file of the client secret or of the private key as a JWK (`private_key_jwt`): one of the
   * two.
   */
  readonly secretFile: string | null
  readonly jwkFile: string | null
  readonly groupsClaim: string
  /** The roles of each group. */
  readonly rolesOfGroups: ReadonlyMap<string, readonly Role[]>
  /** `aud` of people's access tokens for the private listener; null refuses such tokens. */
  readonly audience: string | null
}

/** The settings of the console. */
export interface ConsoleConfig {
  /** Null for the sandbox's own issuer; without one, production has no console. */
  readonly issuer: ConsoleIssuer | null
  /** Whether the console is read-only. */
  readonly readOnly: boolean
}

/** Reads the variables of the console and adds errors to the reader's faults. */
export function readConsole(read: VariableReader): ConsoleConfig {
  const readOnly = read.parseChoice('CONSOLE_READ_ONLY', ['yes', 'no'], 'no') === 'yes'
  const url = read.url('CONSOLE_ISSUER')
  if (url === null) return { issuer: null, readOnly }
  const secretFile = read.text('CONSOLE_CLIENT_SECRET_FILE')
  const jwkFile = read.text('CONSOLE_CLIENT_JWK_FILE')
  if ((secretFile === null) === (jwkFile === null)) {
    read.faults.push(
      'CONSOLE_ISSUER requires one of CONSOLE_CLIENT_SECRET_FILE and CONSOLE_CLIENT_JWK_FILE.',
    )
  }
  const clientId = read.text('CONSOLE_CLIENT_ID')
  if (clientId === null) read.faults.push('CONSOLE_ISSUER requires CONSOLE_CLIENT_ID.')
  const rolesOfGroups = parseRoles(read.text('CONSOLE_ROLES') ?? '')
  if (rolesOfGroups === null) {
    read.faults.push(
      'CONSOLE_ISSUER requires CONSOLE_ROLES, with groups for roles: ' +
        'support=desk;key-officer=keys,custody.',
    )
  }
  return {
    readOnly,
    issuer: {
      // Compared exactly, including a trailing slash.
      issuer: read.text('CONSOLE_ISSUER') ?? url,
      clientId: clientId ?? '',
      secretFile,
      jwkFile,
      groupsClaim: read.text('CONSOLE_GROUPS_CLAIM') ?? 'groups',
      rolesOfGroups: rolesOfGroups ?? new Map(),
      audience: read.text('CONSOLE_AUDIENCE'),
    },
  }
}

/**
 * `role=group,group;role=group`. Separators in a group's name are percent-encoded.
 * @returns null if the text is malformed or names no role.
 */
function parseRoles(text: string): ReadonlyMap<string, readonly Role[]> | null {
  try {
    decodeURIComponent(text)
  } catch {
    // An escape that is not UTF-8 is malformed, too.
    return null
  }
  const roles = new Map<string, readonly Role[]>()
  for (const part of text.split(';').filter((each) => each.trim() !== '')) {
    const [role = '', list = '', ...more] = part.split('=').map((each) => each.trim())
    const groups = list.split(',').map((each) => each.trim())
    if (!isRole(role) || more.length > 0 || groups.includes('')) return null
    for (const written of groups) {
      const group = decodeURIComponent(written)
      roles.set(group, [...new Set([...(roles.get(group) ?? []), role])])
    }
  }
  return roles.size === 0 ? null : roles
}
