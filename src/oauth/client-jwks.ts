import { createPublicKey } from 'node:crypto'
import { freeTextFault } from '../domain/free-text.ts'
import { assertionAlgorithms } from './token-endpoint.ts'

const keyCountLimit = 10
const rsaLengthBits = 2_048

/** The public members of a key of each type (RFC 7518 section 6, RFC 8037 section 2). */
const publicMembers: Readonly<Record<string, readonly string[]>> = {
  EC: ['crv', 'x', 'y'],
  OKP: ['crv', 'x'],
  RSA: ['n', 'e'],
}
const curves: ReadonlySet<unknown> = new Set(['P-256', 'Ed25519', undefined])
const algorithms: ReadonlySet<unknown> = new Set([...assertionAlgorithms, undefined])

type Members = Readonly<Record<string, unknown>>

/**
 * What is stored of the public keys that a client signs its assertions with.
 * @param value a JWK or a JWK Set, as parsed from JSON
 * @returns a JWK Set as JSON text, with nothing in it but what a verifier needs
 * @throws TypeError saying what is wrong: a private member, a key of another kind, too many keys
 */
export function parseClientJwks(value: unknown): string {
  const members: Members = Object(value)
  const keys: readonly unknown[] = Array.isArray(members.keys) ? members.keys : [value]
  if (keys.length === 0 || keys.length > keyCountLimit) {
    throw new TypeError(`A client has 1 to ${keyCountLimit} public keys.`)
  }
  return JSON.stringify({ keys: keys.map((key) => publicKeyOf(Object(key))) })
}

function publicKeyOf(jwk: Members): Record<string, string> {
  const required = publicMembers[String(jwk.kty)]
  if (!required) throw new TypeError('A public key has kty EC, OKP or RSA.')
  if ('d' in jwk) throw new TypeError('The key is private: give its public part alone.')
  if (!curves.has(jwk.crv)) throw new TypeError('The curve of a key is P-256 or Ed25519.')
  if (!algorithms.has(jwk.alg)) {
    throw new TypeError(`The alg of a key is one of ${assertionAlgorithms.join(', ')}.`)
  }
  const key = pick(jwk, ['kty', ...required, 'alg', 'kid'])
  if (key.kid !== undefined && freeTextFault(key.kid) !== null) {
    throw new TypeError('The kid of a key holds no control characters and no card number.')
  }
  refuseUnusable(key)
  return { ...key, use: 'sig' }
}

const pick = (jwk: Members, names: readonly string[]): Record<string, string> =>
  Object.fromEntries(
    names.filter((name) => jwk[name] !== undefined).map((name) => [name, String(jwk[name])]),
  )

function refuseUnusable(key: Record<string, string>): void {
  const lengthBits = modulusLengthBits(key)
  if (lengthBits !== undefined && lengthBits < rsaLengthBits) {
    throw new TypeError(`An RSA key has at least ${rsaLengthBits} bits.`)
  }
}

function modulusLengthBits(key: Record<string, string>): number | undefined {
  try {
    return createPublicKey({ key, format: 'jwk' }).asymmetricKeyDetails?.modulusLength
  } catch (cause) {
    throw new TypeError('The members of the key do not make a key.', { cause })
  }
}
