import { createCipheriv, createDecipheriv, createSecretKey } from 'node:crypto'
import { orRefuse, refuse } from './refusal.ts'

/** The output of {@link sealAesGcm}; both parts are needed to open it. */
export type Sealed = {
  /** As long as the plaintext. */
  readonly ciphertext: Buffer
  /** 16 bytes. */
  readonly tag: Buffer
}

// Without a length, Node also accepts tags of 4 bytes, which an attacker can guess.
const options = { authTagLength: 16 }

/**
 * Seals bytes with AES-256-GCM, 96-bit IV, 128-bit tag (SP 800-38D 7.1).
 *
 * @param key 32 bytes.
 * @param iv 12 bytes, unique under its key.
 * @param associated authenticated, not enciphered; may be empty.
 * @throws CryptoRefusal `aes_gcm_refused` when a length is wrong.
 */
export function sealAesGcm(
  key: Uint8Array,
  iv: Uint8Array,
  associated: Uint8Array,
  plaintext: Uint8Array,
): Sealed {
  requireLengths(key, iv)
  const cipher = createCipheriv('aes-256-gcm', createSecretKey(key), iv, options).setAAD(associated)
  const ciphertext = Buffer.concat([cipher.update(plaintext), cipher.final()])
  return { ciphertext, tag: cipher.getAuthTag() }
}

/**
 * Opens the output of {@link sealAesGcm}. Returns no plaintext unless the tag is right (SP 800-38D
 * 7.2).
 *
 * @param key 32 bytes.
 * @param iv 12 bytes.
 * @param associated the authenticated bytes.
 * @throws CryptoRefusal `aes_gcm_refused`, whether key, IV, associated bytes, ciphertext or tag is
 *   wrong.
 */
export function openAesGcm(
  key: Uint8Array,
  iv: Uint8Array,
  associated: Uint8Array,
  sealed: { readonly ciphertext: Uint8Array; readonly tag: Uint8Array },
): Buffer {
  requireLengths(key, iv)
  return orRefuse('aes_gcm_refused', () => {
    const decipher = createDecipheriv('aes-256-gcm', createSecretKey(key), iv, options)
    decipher.setAAD(associated).setAuthTag(sealed.tag)
    return Buffer.concat([decipher.update(sealed.ciphertext), decipher.final()])
  })
}

function requireLengths(key: Uint8Array, iv: Uint8Array): void {
  if (key.length !== 32 || iv.length !== 12) refuse('aes_gcm_refused')
}
