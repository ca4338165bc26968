import {
  createHmac,
  createPrivateKey,
  createPublicKey,
  diffieHellman,
  type KeyObject,
  sign,
} from 'node:crypto'
import { promisify } from 'node:util'
import { decipherAesEcb, encipherAesEcb } from '../crypto/aes.ts'
import { openAesGcm } from '../crypto/aes-gcm.ts'
import { decipherTdesEcb, encipherTdesEcb } from '../crypto/tdes.ts'
import { xaesKey, xaesNonceLength } from '../crypto/xaes-256-gcm.ts'
import type { KeyKind } from './key-table.ts'
import { inMode } from './mode-of-use.ts'
import { softwarePssKey, softwareUnwrappingKey } from './rsa-keys.ts'
import type {
  AgreementKey,
  BlockKey,
  KeyAction,
  SealingKey,
  SigningKey,
  WorkingKeys,
} from './working-key.ts'

const signInBackground = promisify(sign)

/** What each action is with the bytes of a key at hand. */
export const softwareKeys: {
  readonly [Action in KeyAction]: (kind: KeyKind, key: Uint8Array) => WorkingKeys[Action]
} = {
  blocks: ({ algorithm, modeOfUse }, key) =>
    inMode(modeOfUse, softwareBlockKey(algorithm === 'A' ? 'AES' : 'TDES', key)),
  cvv: (_, key) => ({
    encipherWithA: async (block) => encipherTdesEcb(key.subarray(0, 8), block),
    encipherWithBoth: async (block) => encipherTdesEcb(key, block),
  }),
  seal: (_, key) => softwareSealingKey(key),
  mac: (_, key) => ({
    mac: async (message) => createHmac('sha256', key).update(message).digest(),
  }),
  sign: (_, key) => softwareSigningKey(key),
  signPss: (_, key) => softwarePssKey(key),
  unwrap: (_, key) => softwareUnwrappingKey(key),
  agree: (_, key) => softwareAgreementKey(key),
}

const ciphers = {
  AES: { encipher: encipherAesEcb, decipher: decipherAesEcb },
  TDES: { encipher: encipherTdesEcb, decipher: decipherTdesEcb },
} as const

/** A key over whole blocks, with its bytes at hand. */
function softwareBlockKey(cipher: keyof typeof ciphers, key: Uint8Array): BlockKey {
  const { decipher, encipher } = ciphers[cipher]
  return {
    cipher,
    encipher: async (blocks) => encipher(key, blocks),
    decipher: async (blocks) => decipher(key, blocks),
  }
}

/** XAES-256-GCM; what was sealed with AES-256-GCM, which has a shorter nonce, is still opened. */
function softwareSealingKey(key: Uint8Array): SealingKey {
  const xaes = xaesKey(key)
  return {
    seal: async (nonce, associated, clear) => xaes.seal(nonce, associated, clear),
    open: async (nonce, associated, sealed) =>
      nonce.length === xaesNonceLength
        ? xaes.open(nonce, associated, sealed)
        : openAesGcm(key, nonce, associated, sealed),
  }
}

/** ES256 (RFC 7518, section 3.4). */
function softwareSigningKey(pkcs8: Uint8Array): SigningKey {
  const key = readPkcs8(pkcs8)
  return {
    publicJwk: publicJwkOf(key),
    sign: (message) => signInBackground('sha256', message, { key, dsaEncoding: 'ieee-p1363' }),
  }
}

/** ECDH on P-256, without a key derivation of its own (SP 800-56A 5.7.1.2). */
function softwareAgreementKey(pkcs8: Uint8Array): AgreementKey {
  const privateKey = readPkcs8(pkcs8)
  return {
    publicJwk: publicJwkOf(privateKey),
    agree: async (publicKey) => diffieHellman({ privateKey, publicKey }),
  }
}

const readPkcs8 = (pkcs8: Uint8Array): KeyObject =>
  createPrivateKey({ key: Buffer.from(pkcs8), format: 'der', type: 'pkcs8' })

function publicJwkOf(privateKey: KeyObject): SigningKey['publicJwk'] {
  const { x, y } = createPublicKey(privateKey).export({ format: 'jwk' })
  if (x === undefined || y === undefined) throw new Error('This is no key on a curve.')
  return { kty: 'EC', crv: 'P-256', x, y }
}
