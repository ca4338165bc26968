import type { KeyObject } from 'node:crypto'

/** The minimum length of a modulus in bits (RFC 7518 sections 3.3, 3.5 and 4.3). */
const modulusBitsMin = 2_048
/**
 * FIPS 186-5 appendix A.1.1: the exponent is odd and above 2^16. With an exponent of 1, every text
 * would be its own signature.
 */
const exponentMin = 65_537n
/** FIPS 186-5 appendix A.1.1: the exponent is below 2^256. */
const exponentBitsMax = 256

/** The modulus and the exponent of an RSA public key. */
interface RsaNumbers {
  readonly modulus: bigint
  readonly exponent: bigint
}

/**
 * Returns the fault of an RSA public key, or null. With an exponent of 1, or an even modulus or
 * exponent, anyone can forge signatures without the private key.
 */
function findNumberFault({ exponent, modulus }: RsaNumbers): string | null {
  if (countBits(modulus) < modulusBitsMin)
    return `An RSA key must have at least ${modulusBitsMin} bits.`
  if (modulus % 2n === 0n) return 'The modulus of an RSA key must be odd.'
  if (exponent < exponentMin || exponent % 2n === 0n) {
    return `The exponent of an RSA key must be odd, and at least ${exponentMin}.`
  }
  return countBits(exponent) > exponentBitsMax
    ? `The exponent of an RSA key must have at most ${exponentBitsMax} bits.`
    : null
}

const countBits = (number: bigint): number => number.toString(2).length

/**
 * Returns the fault of an RSA key in a JWK, public or private; null for a good key and for other
 * key types.
 */
export function findRsaJwkFault({ e, kty, n }: Readonly<Record<string, unknown>>): string | null {
  if (kty !== 'RSA') return null
  const modulus = parseNumber(n)
  const exponent = parseNumber(e)
  if (modulus !== null && exponent !== null) return findNumberFault({ modulus, exponent })
  const foreign = findForeignCharacter('n', n) ?? findForeignCharacter('e', e)
  return foreign ?? 'An RSA key must have n and e in base64url.'
}

const foreignCharacters: readonly (readonly [form: RegExp, name: string])[] = [
  [/[\r\n]/, 'a line break'],
  [/\s/, 'white space'],
  [/=/, 'padding (=)'],
  [/[+/]/, 'a character of base64 (+ or /), where base64url has - or _'],
]

/**
 * Describes the first character of a member that is not base64url, and its position, without
 * repeating the member.
 */
function findForeignCharacter(member: string, text: unknown): string | null {
  const place = typeof text === 'string' ? text.search(/[^A-Za-z0-9_-]/) : -1
  if (typeof text !== 'string' || place < 0) return null
  const character = text.charAt(place)
  const [, name] = foreignCharacters.find(([form]) => form.test(character)) ?? []
  return (
    `The member ${member} of an RSA key must be base64url (RFC 4648 section 5) on one line, ` +
    `and has ${name ?? 'a character that is not allowed'} at character ${place + 1}.`
  )
}

function parseNumber(text: unknown): bigint | null {
  if (typeof text !== 'string' || !/^[A-Za-z0-9_-]+$/.test(text)) return null
  return BigInt(`0x0${Buffer.from(text, 'base64url').toString('hex')}`)
}

/** Returns the fault of an RSA key in any form; null for a good key and for other key types. */
export function findRsaFault(key: KeyObject): string | null {
  if (key.asymmetricKeyType === 'rsa') return findRsaJwkFault({ ...key.export({ format: 'jwk' }) })
  if (key.asymmetricKeyType !== 'rsa-pss') return null
  // A key that is restricted to PSS has no JWK form. Only its length and exponent can be read.
  const { modulusLength = 0, publicExponent = 0n } = key.asymmetricKeyDetails ?? {}
  const modulus = 2n ** BigInt(Math.max(modulusLength, 1) - 1) + 1n
  return findNumberFault({ modulus, exponent: publicExponent })
}

/**
 * Removes the RSA keys that must not be trusted from a JWK Set: a token that names one finds no
 * key. Other values are returned unchanged.
 */
export function withoutWeakRsaKeys(jwks: unknown): unknown {
  if (!isRecord(jwks) || !Array.isArray(jwks.keys)) return jwks
  const keys: readonly unknown[] = jwks.keys
  return { ...jwks, keys: keys.filter((key) => !isRecord(key) || findRsaJwkFault(key) === null) }
}

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null
