import { spawn } from 'node:child_process'
import * as crypto from 'node:crypto'
import { once } from 'node:events'
import { setPriority, constants as systemConstants } from 'node:os'
import { buffer } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { PssKey, RsaPublicJwk, UnwrappingKey } from '../keys/key-engine.ts'

const signInBackground = promisify(crypto.sign)

/** Decrypts RSA-OAEP with SHA-256 (RFC 8017 7.1), off the event loop. */
export function softwareUnwrappingKey(pkcs8: Uint8Array): UnwrappingKey {
  const privateKey = readPkcs8(pkcs8)
  const algorithm = { name: 'RSA-OAEP', hash: 'SHA-256' }
  // Of Node's decryption functions, only this one runs in the thread pool.
  const key = privateKey.toCryptoKey(algorithm, false, ['decrypt'])
  return {
    publicJwk: exportPublicJwk(privateKey),
    unwrap: async (wrapped) =>
      crypto.webcrypto.subtle.decrypt('RSA-OAEP', key, wrapped).then(Buffer.from, (error) => {
        // OpenSSL throws the same error for every padding fault.
        if (error instanceof DOMException && error.name === 'OperationError') return null
        throw error
      }),
  }
}

/** Signs with RSASSA-PSS, SHA-256 and 32 bytes of salt (RFC 8017 8.1), off the event loop. */
export function softwarePssKey(pkcs8: Uint8Array): PssKey {
  const key = readPkcs8(pkcs8)
  const padding = crypto.constants.RSA_PKCS1_PSS_PADDING
  return {
    publicJwk: exportPublicJwk(key),
    sign: (message) => signInBackground('sha256', message, { key, padding, saltLength: 32 }),
  }
}

const readPkcs8 = (pkcs8: Uint8Array): crypto.KeyObject =>
  crypto.createPrivateKey({ key: Buffer.from(pkcs8), format: 'der', type: 'pkcs8' })

function exportPublicJwk(privateKey: crypto.KeyObject): RsaPublicJwk {
  const { e, n } = crypto.createPublicKey(privateKey).export({ format: 'jwk' })
  if (e === undefined || n === undefined) throw new Error('The key is not RSA.')
  return { kty: 'RSA', n, e }
}

const program = fileURLToPath(new URL('rsa-key-process.ts', import.meta.url))

/**
 * Generates an RSA key of 4096 bits: PKCS#8 in DER. It takes seconds, in another process of lower
 * priority, which never outlives this process.
 *
 * @param signal aborts the generation.
 */
export async function generateRsaKey(signal?: AbortSignal): Promise<Buffer> {
  const child = spawn(process.execPath, [program], {
    stdio: ['pipe', 'pipe', 'ignore'],
    env: {},
    killSignal: 'SIGKILL',
    ...(signal && { signal }),
  })
  try {
    if (child.pid !== undefined) {
      setPriority(child.pid, systemConstants.priority.PRIORITY_BELOW_NORMAL)
    }
  } catch {
    // The process may have ended, or the machine forbids the change: then the priority stays.
  }
  const [bytes, [code]] = await Promise.all([buffer(child.stdout), once(child, 'close')])
  if (code !== 0 || bytes.length === 0) throw new Error('The generation of an RSA key failed.')
  return bytes
}
