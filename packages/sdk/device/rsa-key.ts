import { base64url } from 'jose'

/**
 * The minimum bits of a modulus (RFC 7518 sections 3.5 and 4.3), and the minimum exponent (FIPS
 * 186-5 appendix A.1.1).
 */
const modulusBitsMin = 2_048
const exponentMin = 65_537n

/**
 * Whether an RSA key is secure. With an exponent of 1, anyone can sign, and encrypted data is in
 * clear.
 */
export function isStrongRsaKey(n: unknown, e: unknown): boolean {
  const modulus = parseNumber(n)
  const exponent = parseNumber(e)
  return (
    modulus.toString(2).length >= modulusBitsMin &&
    modulus % 2n === 1n &&
    exponent >= exponentMin &&
    exponent % 2n === 1n
  )
}

/** Decodes a base64url number; 0 if malformed. */
function parseNumber(text: unknown): bigint {
  const isBase64 = typeof text === 'string' && /^[A-Za-z0-9_-]+$/.test(text)
  if (!isBase64 || text.length % 4 === 1) return 0n
  const digits = Array.from(base64url.decode(text), (byte) => byte.toString(16).padStart(2, '0'))
  return BigInt(`0x0${digits.join('')}`)
}
