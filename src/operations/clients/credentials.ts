import * as crypto from 'node:crypto'
import { assertionAlgorithms } from '../../domain/client.ts'
import { freeTextFault } from '../../domain/free-text.ts'
import { type Members, toMembers } from '../../domain/members.ts'
import { withoutUuids } from '../../domain/pan.ts'
import { findRsaFault } from '../../domain/rsa-key.ts'

const secretLengthBytes = 32

/** A new client secret: 256 random bits, 43 base64url characters. Shown once, stored as a hash. */
export const generateClientSecret = (): string =>
  crypto.randomBytes(secretLengthBytes).toString('base64url')

/**
 * What is stored of a client secret: its SHA-256, 32 bytes.
 *
 * A slow hash (scrypt, Argon2) buys time where secrets are guessable. Ours have 256 random bits:
 * no number of guesses finds one, and a slow hash would only let a stranger burn our processors.
 */
export const hashClientSecret = (secret: string): Uint8Array =>
  crypto.createHash('sha256').update(secret, 'utf8').digest()

/** Whether a secret is the one hashed; takes the same time wherever they differ. */
export const matchesClientSecret = (secret: string, secretHash: Uint8Array): boolean => {
  const actual = hashClientSecret(secret)
  return actual.length === secretHash.length && crypto.timingSafeEqual(actual, secretHash)
}

/**
 * The hashes of a client's secret and of the one before it, as one text that the token endpoint
 * keeps.
 */
export const writeSecretHashes = (current: Uint8Array, previous: Uint8Array | null): string =>
  [current, ...(previous ? [previous] : [])]
    .map((hash) => Buffer.from(hash).toString('base64url'))
    .join('.')

/** Whether a secret is one of those whose hashes {@link writeSecretHashes} wrote. */
export const matchesWrittenHashes = (secret: string, written: string): boolean =>
  written
    .split('.')
    // Each is compared, whichever matches: the time says nothing of which one it was.
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
 * What is stored of the public keys that a client signs its assertions with.
 * @param value a JWK or a JWK Set, as parsed from JSON
 * @returns a JWK Set as JSON text, with nothing in it but what a verifier needs
 * @throws TypeError saying what is wrong: a private member, a key of another kind, too many keys
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

/** An administrator whom the configuration names, and its public key as it is stored. */
export interface FirstAdministrator {
  readonly clientId: string
  readonly jwks: string
}

const soleClientId = 'admin'
const idForm = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/

/**
 * The first administrators in a file of the configuration: one public JWK is the key of `admin`; in
 * a JWK Set each key is one administrator's, whose client id is its `kid`.
 * @param value the file, as parsed from JSON
 * @throws TypeError saying what is wrong
 */
export function parseFirstAdministrators(value: unknown): readonly FirstAdministrator[] {
  const { keys } = toMembers(value)
  if (!Array.isArray(keys)) return [{ clientId: soleClientId, jwks: parseClientJwks(value) }]
  // Checked together for what a single key is checked for, and for their number.
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
  // One person by two names could stand for two people.
  if (hasRepeated(materials)) {
    throw new TypeError('One key is in the set twice. Each administrator needs a key of their own.')
  }
  return administrators
}

const hasRepeated = (texts: readonly string[]): boolean => new Set(texts).size < texts.length
