import { createPublicKey, type KeyObject, randomBytes } from 'node:crypto'
import { openAesGcm, sealAesGcm } from './aes-gcm.ts'
import { concatKdf, type EphemeralAgreement } from './key-agreement.ts'
import { orRefuse, refuse } from './refusal.ts'

/**
 * The accepted header members. A JWE with any other member is refused, including `zip` and `crit`.
 */
const knownMembers = new Set(['alg', 'enc', 'epk', 'typ', 'cty', 'kid', 'apu', 'apv'])

type Header = Readonly<Record<string, unknown>>

/** A parsed JWE, before the key agreement. */
type ReadJwe = {
  readonly header: Header
  /** The sender's key, on P-256. */
  readonly ephemeralKey: KeyObject
  /**
   * @param sharedSecret Z, the x coordinate that the ephemeral key and the recipient's key agree
   *   on.
   * @throws CryptoRefusal `jwe_refused`, whatever is wrong.
   */
  open(sharedSecret: Uint8Array): Buffer
}

/**
 * Reads a compact JWE of ECDH-ES on P-256 with A256GCM (RFC 7516 5.2, RFC 7518 4.6 and 5.3),
 * without the recipient's key. The algorithms are fixed; the header must name them.
 *
 * @param jwe five parts, the second empty; IV of 96 bits, tag of 128.
 * @param required header members that must have exactly these values, such as `typ`.
 * @throws CryptoRefusal `jwe_refused`, whatever is wrong.
 */
export function readJwe(jwe: string, required: Readonly<Record<string, string>> = {}): ReadJwe {
  return orRefuse('jwe_refused', () => {
    const [protectedHeader = '', encryptedKey, iv = '', ciphertext = '', tag = '', ...others] =
      jwe.split('.')
    if (encryptedKey !== '' || others.length > 0) refuse('jwe_refused')
    const header = readHeader(protectedHeader, { alg: 'ECDH-ES', enc: 'A256GCM', ...required })
    const sealed = { ciphertext: decode(ciphertext), tag: decode(tag) }
    const parties = { apu: readPartyInfo(header.apu), apv: readPartyInfo(header.apv) }
    const open = (sharedSecret: Uint8Array): Buffer =>
      orRefuse('jwe_refused', () => {
        const key = concatKdf(sharedSecret, { algorithm: 'A256GCM', ...parties, keyBits: 256 })
        return openAesGcm(key, decode(iv), Buffer.from(protectedHeader), sealed)
      })
    return { header, ephemeralKey: readEphemeralKey(header.epk), open }
  })
}

function readHeader(text: string, required: Readonly<Record<string, string>>): Header {
  const header: unknown = JSON.parse(decode(text).toString())
  if (!isObject(header)) return refuse('jwe_refused')
  const isKnown = Object.keys(header).every((member) => knownMembers.has(member))
  const isAsRequired = Object.entries(required).every(([member, value]) => header[member] === value)
  return isKnown && isAsRequired ? header : refuse('jwe_refused')
}

/** Reads the public members only. OpenSSL refuses a point that is not on the curve. */
function readEphemeralKey(epk: unknown): KeyObject {
  if (!isObject(epk) || 'd' in epk || epk.kty !== 'EC' || epk.crv !== 'P-256') {
    return refuse('jwe_refused')
  }
  const { x, y } = epk
  if (typeof x !== 'string' || typeof y !== 'string') return refuse('jwe_refused')
  return createPublicKey({ key: { kty: 'EC', crv: 'P-256', x, y }, format: 'jwk' })
}

function readPartyInfo(value: unknown): Buffer {
  if (value === undefined) return Buffer.alloc(0)
  return typeof value === 'string' ? decode(value) : refuse('jwe_refused')
}

/** Decodes base64url, accepting only the canonical spelling (RFC 7515 2). */
function decode(text: string): Buffer {
  const bytes = Buffer.from(text, 'base64url')
  return bytes.toString('base64url') === text ? bytes : refuse('jwe_refused')
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

const none = Buffer.alloc(0)

/**
 * Seals bytes as a compact JWE of ECDH-ES with A256GCM (RFC 7516 5.1, RFC 7518 4.6 and 5.3),
 * without party information or compression.
 *
 * @param agreement for this JWE only, so that its key is used with one IV.
 * @param contentType `cty`.
 */
export function sealJwe(
  { ephemeralJwk, sharedSecret }: EphemeralAgreement,
  contentType: string,
  plaintext: Uint8Array,
): string {
  const header = { alg: 'ECDH-ES', enc: 'A256GCM', epk: ephemeralJwk, cty: contentType }
  const protectedHeader = Buffer.from(JSON.stringify(header)).toString('base64url')
  const inputs = { algorithm: 'A256GCM', apu: none, apv: none, keyBits: 256 }
  const key = concatKdf(sharedSecret, inputs)
  const iv = randomBytes(12)
  const { ciphertext, tag } = sealAesGcm(key, iv, Buffer.from(protectedHeader), plaintext)
  const parts = [iv, ciphertext, tag].map((part) => part.toString('base64url'))
  return [protectedHeader, '', ...parts].join('.')
}
