/** RSA keys that must be trusted nowhere, and what is forged with one of them. */
import { generateKeyPairSync, hash } from 'node:crypto'

const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2_048 })
const { n = '', ...numbers } = privateKey.export({ format: 'jwk' })

/** A good key of 2048 bits with the exponent 65537, public. */
export const goodRsaJwk = { kty: 'RSA', n, e: numbers.e ?? '' }

const withExponent = (...bytes: number[]) => ({
  ...goodRsaJwk,
  e: Buffer.from(bytes).toString('base64url'),
})

/** With an exponent of 1 every text is its own signature: no private key is needed to make one. */
export const exponentOneJwk = withExponent(1)

/** The private half of it: 1 undoes 1. */
export const exponentOnePrivateJwk = {
  ...numbers,
  kty: 'RSA',
  n,
  e: 'AQ',
  d: 'AQ',
  dp: 'AQ',
  dq: 'AQ',
}

const evenModulus = Buffer.from(n, 'base64url')
evenModulus[evenModulus.length - 1] = (evenModulus.at(-1) ?? 0) & 0xfe

/** Public keys, by what is wrong with each. */
export const weakRsaJwks: Readonly<Record<string, { kty: string; n: string; e: string }>> = {
  'the exponent 1': exponentOneJwk,
  'the exponent 2': withExponent(2),
  'the exponent 3': withExponent(3),
  'the exponent 65535': withExponent(0xff, 0xff),
  'the exponent 65538': withExponent(1, 0, 2),
  'an even modulus': { ...goodRsaJwk, n: evenModulus.toString('base64url') },
  '1024 bits': {
    ...goodRsaJwk,
    n: Buffer.from(n, 'base64url').subarray(-128).toString('base64url'),
  },
  '2047 bits, and zeros before them': {
    ...goodRsaJwk,
    n: Buffer.concat([Buffer.alloc(8), Buffer.from(n, 'base64url').subarray(-255)]).toString(
      'base64url',
    ),
  },
}

/** What stands before a SHA-256 hash in a signature of RS256 (RFC 8017 section 9.2, note 1). */
const digestInfo = Buffer.from('3031300d060960864801650304020105000420', 'hex')

/** A JWT that verifies with RS256 under {@link exponentOneJwk}, made without a private key. */
export function forgeJwt(header: object, claims: object): string {
  const encode = (part: object) => Buffer.from(JSON.stringify(part)).toString('base64url')
  const signed = `${encode({ alg: 'RS256', ...header })}.${encode(claims)}`
  const info = Buffer.concat([digestInfo, hash('sha256', signed, 'buffer')])
  const padding = Buffer.alloc(256 - 3 - info.length, 0xff)
  const signature = Buffer.concat([Buffer.from([0, 1]), padding, Buffer.from([0]), info])
  return `${signed}.${signature.toString('base64url')}`
}
