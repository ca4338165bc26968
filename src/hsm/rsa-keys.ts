import {
  constants,
  createPrivateKey,
  createPublicKey,
  type KeyObject,
  sign,
  webcrypto,
} from 'node:crypto'
import { promisify } from 'node:util'
import type { PssKey, RsaPublicJwk, UnwrappingKey } from './working-key.ts'

const signInBackground = promisify(sign)

/** RSA-OAEP with SHA-256 (RFC 8017 7.1), off the event loop. */
export function softwareUnwrappingKey(pkcs8: Uint8Array): UnwrappingKey {
  const privateKey = readPkcs8(pkcs8)
  const algorithm = { name: 'RSA-OAEP', hash: 'SHA-256' }
  // Of Node's ways to decipher, this one alone works in the thread pool.
  const key = privateKey.toCryptoKey(algorithm, false, ['decrypt'])
  return {
    publicJwk: publicJwkOf(privateKey),
    unwrap: async (wrapped) =>
      webcrypto.subtle.decrypt('RSA-OAEP', key, wrapped).then(Buffer.from, nothingOfRefusal),
  }
}

/** OpenSSL's one refusal, whatever is wrong with the padding. */
function nothingOfRefusal(error: unknown): null {
  if (error instanceof DOMException && error.name === 'OperationError') return null
  throw error
}

/** RSASSA-PSS with SHA-256 and 32 bytes of salt (RFC 8017 8.1), off the event loop. */
export function softwarePssKey(pkcs8: Uint8Array): PssKey {
  const key = readPkcs8(pkcs8)
  const padding = constants.RSA_PKCS1_PSS_PADDING
  return {
    publicJwk: publicJwkOf(key),
    sign: (message) => signInBackground('sha256', message, { key, padding, saltLength: 32 }),
  }
}

const readPkcs8 = (pkcs8: Uint8Array): KeyObject =>
  createPrivateKey({ key: Buffer.from(pkcs8), format: 'der', type: 'pkcs8' })

function publicJwkOf(privateKey: KeyObject): RsaPublicJwk {
  const { e, n } = createPublicKey(privateKey).export({ format: 'jwk' })
  if (e === undefined || n === undefined) throw new Error('This is no RSA key.')
  return { kty: 'RSA', n, e }
}
