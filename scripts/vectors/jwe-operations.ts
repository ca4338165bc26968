import { createPrivateKey } from 'node:crypto'
import { compactDecrypt, decodeProtectedHeader, importJWK, type JWK } from 'jose'
import { concatKdf } from '../../src/crypto/key-agreement.ts'
import { areEqualBytes } from '../../src/crypto/refusal.ts'
import { openJwe } from '../../test/reference/open-jwe.ts'
import {
  bytes,
  type Inputs,
  numberOr,
  type Operation,
  object,
  text,
  UncoveredRow,
} from './inputs.ts'

/** What a JWE may say under a key. */
type Policy = { readonly alg: readonly string[]; readonly enc: readonly string[] }

const contentEncryptions: readonly string[] = [
  'A128GCM',
  'A192GCM',
  'A256GCM',
  'A128CBC-HS256',
  'A192CBC-HS384',
  'A256CBC-HS512',
]

const agreements = ['ECDH-ES', 'ECDH-ES+A128KW', 'ECDH-ES+A192KW', 'ECDH-ES+A256KW']

/** What a key that names no algorithm may be used for, by its type. */
const algorithmsByType: Readonly<Record<string, readonly string[]>> = {
  oct: ['dir', 'A128KW', 'A192KW', 'A256KW'],
  RSA: ['RSA-OAEP', 'RSA-OAEP-256'],
  EC: agreements,
  OKP: agreements,
}

/** The operations on JWE. Only what the product opens itself is its own code; jose does the rest. */
export const jweOperations: Readonly<Record<string, Operation>> = {
  decrypt: async (inputs) => {
    const [jwe, jwk] = [text(inputs, 'jwe'), object(inputs, 'jwk')]
    const plaintext = await decrypt(jwe, jwk).catch(() => {
      throw new RangeError('not a JWE for the key')
    })
    return { plaintext: plaintext.toString(), plaintextHex: plaintext }
  },
  concatKdf: (inputs) => {
    if (inputs.z === undefined) throw new UncoveredRow()
    const key = concatKdf(bytes(inputs, 'z'), {
      algorithm: text(inputs, 'algorithm', 'enc', 'alg'),
      apu: Buffer.from(text({ apu: '', ...inputs }, 'apu'), 'base64url'),
      apv: Buffer.from(text({ apv: '', ...inputs }, 'apv'), 'base64url'),
      keyBits: numberOr(inputs, 'keyBits', 256),
    })
    return { key }
  },
}

async function decrypt(jwe: string, jwk: Inputs): Promise<Buffer> {
  const policy = policyOf(jwk)
  const { alg = '', enc = '', zip } = decodeProtectedHeader(jwe)
  const isAllowed = policy.alg.includes(alg) && policy.enc.includes(enc) && zip === undefined
  if (!isAllowed || !jwe.split('.').every(isCanonical)) throw new RangeError('not allowed')
  const { plaintext } = await compactDecrypt(jwe, await importJWK(jwk as JWK, alg), {
    keyManagementAlgorithms: [...policy.alg],
    contentEncryptionAlgorithms: [...policy.enc],
  })
  const isOurs = alg === 'ECDH-ES' && enc === 'A256GCM' && jwk.crv === 'P-256'
  if (isOurs) requireSamePlaintext(jwe, jwk, plaintext)
  return Buffer.from(plaintext)
}

/** What a key is for: what its own `alg` names and nothing else, or what its type allows. */
function policyOf({ kty, alg, use = 'enc' }: Inputs): Policy {
  if (use !== 'enc' || alg === 'RSA1_5') return { alg: [], enc: [] }
  if (alg === undefined)
    return { alg: algorithmsByType[String(kty)] ?? [], enc: contentEncryptions }
  const named = String(alg)
  // A key for direct encryption names the content encryption (RFC 7520 5.6.1).
  if (contentEncryptions.includes(named)) return { alg: ['dir'], enc: [named] }
  return { alg: [named], enc: contentEncryptions }
}

function isCanonical(part: string): boolean {
  return Buffer.from(part, 'base64url').toString('base64url') === part
}

function requireSamePlaintext(jwe: string, jwk: Inputs, plaintext: Uint8Array): void {
  const key = createPrivateKey({ key: { ...jwk }, format: 'jwk' })
  if (!areEqualBytes(openJwe(jwe, key).plaintext, plaintext)) throw new RangeError('not the same')
}
