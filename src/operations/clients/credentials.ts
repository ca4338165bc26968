import * as crypto from 'node:crypto'
import { assertionAlgorithms } from '../../domain/client.ts'
import { freeTextFault } from '../../domain/free-text.ts'
import { type Members, toMembers } from '../../domain/members.ts'
import { withoutUuids } from '../../domain/pan.ts'
import { findRsaFault } from '../../domain/rsa-key.ts'

const secretLengthBytes = 32

/**
 * Generates a client secret: 256 random bits, 43 base64url characters. It is shown once, and stored
 * as a hash.
 */
export const generateClientSecret = (): string =>
  crypto.randomBytes(secretLengthBytes).toString('base64url')

/**
 * Hashes a client secret for storage: SHA-256, 32 bytes.
 * A slow hash (scrypt, Argon2) protects guessable secrets. These secrets have 256 random bits and
 * cannot be guessed, and a slow hash would only let an attacker consume processor time.
 */
export const hashClientSecret = (secret: string): Uint8Array =>
  crypto.createHash('sha256').update(secret, 'utf8').digest()

/** Whether a secret has this hash. The time does not depend on where they differ. */
export const matchesClientSecret = (secret: string, secretHash: Uint8Array): boolean => {
  const actual = hashClientSecret(secret)
  return actual.length === secretHash.length && crypto.timingSafeEqual(actual, secretHash)
}

/**
 * Writes the hashes of a client's present and previous secret as one text, which the token endpoint
 * stores.
 */
export const writeSecretHashes = (current: Uint8Array, previous: Uint8Array | null): string =>
  [current, ...(previous ? [previous] : [])]
    .map((hash) => Buffer.from(hash).toString('base64url'))
    .join('.')

/** Whether a secret is one of those whose hashes {@link writeSecretHashes} wrote. */
export const matchesWrittenHashes = (secret: string, written: string): boolean =>
  written
    .split('.')
    // Every hash is compared, so that the time does not reveal which one matches.
    .map((hash) => matchesClientSecret(secret, Buffer.from(hash, 'base64url')))
    .includes(true)

const keyCountLimit = 10

/** The public members of a key of each type (RFC 7518 section 6, RFC 8037 section 2). */
const publicMembers: Readonly<Record<string, readonly string[]>> = {
  EC: ['crv', 'x', 'y'],
  OKP: ['crv', 'x'],
  RSA: ['n', 'e'],
}
const curves: ReadonlySet<unknown> = new Set(['P-256', 'Ed25519', undefined])
const algorithms: ReadonlySet<unknown> = new Set([...assertionAlgorithms, undefined])

/**
 * Parses the public keys that verify a client's assertions, into their stored form.
 * @param value a JWK or a JWK Set, as parsed from JSON
 * @returns a JWK Set as JSON text, with only the members that a verifier needs
 * @throws TypeError with the fault: a private member, a key of another kind, too many keys
 */
export function parseClientJwks(value: unknown): string {
  const members = toMembers(value)
  const keys: readonly unknown[] = Array.isArray(members.keys) ? members.keys : [value]
  if (keys.length === 0 || keys.length > keyCountLimit) {
    throw new TypeError(`A client must have 1 to ${keyCountLimit} public keys.`)
  }
  return JSON.stringify({ keys: keys.map((key) => parsePublicKey(toMembers(key))) })
}

function parsePublicKey(jwk: Members): Record<string, string> {
  const required = publicMembers[String(jwk.kty)]
  if (!required) throw new TypeError('The kty of a public key must be EC, OKP or RSA.')
  if ('d' in jwk) throw new TypeError('The key is private: send only its public part.')
  if (!curves.has(jwk.crv)) throw new TypeError('The curve of a key must be P-256 or Ed25519.')
  if (!algorithms.has(jwk.alg)) {
    throw new TypeError(`The alg of a key must be one of ${assertionAlgorithms.join(', ')}.`)
  }
  const given = ['kty', ...required, 'alg', 'kid'].filter((name) => jwk[name] !== undefined)
  const key = Object.fromEntries(given.map((name) => [name, String(jwk[name])]))
  if (key.kid !== undefined && freeTextFault(withoutUuids(key.kid)) !== null) {
    throw new TypeError('The kid of a key must not contain control characters or a card number.')
  }
  let publicKey: crypto.KeyObject
  try {
    publicKey = crypto.createPublicKey({ key, format: 'jwk' })
  } catch (cause) {
    throw new TypeError('The members are not a valid key.', { cause })
  }
  const fault = findRsaFault(publicKey)
  if (fault !== null) throw new TypeError(fault)
  return { ...key, use: 'sig' }
}

/** An administrator in the configuration, and its public key in the stored form. */
export interface FirstAdministrator {
  readonly clientId: string
  readonly jwks: string
}

const soleClientId = 'admin'
const idForm = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/

/**
 * Parses the first administrators in a file of the configuration. One public JWK is the key of
 * `admin`; in a JWK Set each key belongs to one administrator, whose client id is its `kid`.
 * @param value the file, as parsed from JSON
 * @throws TypeError with the fault
 */
export function parseFirstAdministrators(value: unknown): readonly FirstAdministrator[] {
  const { keys } = toMembers(value)
  if (!Array.isArray(keys)) return [{ clientId: soleClientId, jwks: parseClientJwks(value) }]
  // Checked together, with the rules for single keys and for their number.
  parseClientJwks(value)
  const administrators = keys.map((key: unknown): FirstAdministrator => {
    const { kid, ...jwk } = toMembers(key)
    if (typeof kid !== 'string' || !idForm.test(kid)) {
      throw new TypeError('Each key of the set needs a kid: the client id of its administrator.')
    }
    return { clientId: kid, jwks: parseClientJwks({ keys: [{ ...jwk, kid }] }) }
  })
  if (hasRepeated(administrators.map(({ clientId }) => clientId))) {
    throw new TypeError('Two keys of the set have the same kid.')
  }
  const materials = keys.map((key: unknown) => {
    const { crv, kty, n, x } = toMembers(key)
    return JSON.stringify([kty, crv, x, n])
  })
  // One person with two names could pass for two people.
  if (hasRepeated(materials)) {
    throw new TypeError('One key is in the set twice. Each administrator needs a key of their own.')
  }
  return administrators
}

const hasRepeated = (texts: readonly string[]): boolean => new Set(texts).size < texts.length
