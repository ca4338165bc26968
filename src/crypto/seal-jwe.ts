import { randomBytes } from 'node:crypto'
import { sealAesGcm } from './aes-gcm.ts'
import { concatKdf } from './concat-kdf.ts'
import type { EphemeralAgreement } from './ephemeral-agreement.ts'

const none = Buffer.alloc(0)

/**
 * Seals bytes as a compact JWE of ECDH-ES with A256GCM (RFC 7516 5.1, RFC 7518 4.6 and 5.3), without
 * party information or compression.
 *
 * @param agreement for this JWE alone: its key is used with one IV only.
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
