import { hash } from 'node:crypto'
import { toMembers } from './members.ts'

/**
 * The members that a thumbprint covers, in its order (RFC 7638 section 3.2, RFC 8037 section 2).
 */
const thumbprintMembers: Readonly<Record<string, readonly string[]>> = {
  EC: ['crv', 'kty', 'x', 'y'],
  OKP: ['crv', 'kty', 'x'],
  RSA: ['e', 'kty', 'n'],
}

/**
 * Lists the thumbprints of a client's public keys: SHA-256, base64url (RFC 7638). Values that are
 * no keys are ignored.
 * @param jwks a JWK or a JWK Set, as parsed from JSON
 */
export function listKeyThumbprints(jwks: unknown): readonly string[] {
  const { keys } = toMembers(jwks)
  const each: readonly unknown[] = Array.isArray(keys) ? keys : [jwks]
  return each.flatMap((key) => {
    const members = toMembers(key)
    const required = thumbprintMembers[String(members.kty)]
    if (!required?.every((name) => typeof members[name] === 'string')) return []
    const own = Object.fromEntries(required.map((name) => [name, members[name]]))
    return [hash('sha256', JSON.stringify(own), 'base64url')]
  })
}
