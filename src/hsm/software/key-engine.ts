import * as crypto from 'node:crypto'
import { promisify } from 'node:util'
import { aesBlockLength, decipherAesEcb, encipherAesCbc, encipherAesEcb } from '../../crypto/aes.ts'
import { openAesGcm } from '../../crypto/aes-gcm.ts'
import type { UnwrappedKeyBlock } from '../../crypto/key-block.ts'
import { readKeyBlockHeader } from '../../crypto/key-block-header.ts'
import {
  decipherTdesEcb,
  desBlockLength,
  encipherTdesCbc,
  encipherTdesEcb,
} from '../../crypto/tdes.ts'
import { xaesKey, xaesNonceLength } from '../../crypto/xaes-256-gcm.ts'
import { type KeyAction, type KeyKind, parseCipher } from '../contract/catalogue.ts'
import { KeyRefusal } from '../contract/stored-keys.ts'
import { computeKeyCheckValue } from '../keys/key-check.ts'
import * as keyEngine from '../keys/key-engine.ts'
import { composeHeader, purposeIn } from '../keys/key-purposes.ts'
import { drawFitKey, refuseUnfitKey, refuseWeakKey } from '../keys/key-strength.ts'
import { type MasterKeys, type SecretKey, toMasterKeys } from './master-keys.ts'
import { generateRsaKey, softwarePssKey, softwareUnwrappingKey } from './rsa.ts'

/**
 * The engine for keys in this process, stored as X9.143 key blocks of version D under a master key.
 */
export function openSoftwareKeyEngine(masterKey: SecretKey | MasterKeys): keyEngine.KeyEngine {
  const masterKeys = toMasterKeys(masterKey)
  const wrapKey = (kind: KeyKind, key: Uint8Array, exportability: keyEngine.Exportability) => ({
    keyBlock: masterKeys.wrap(composeHeader(kind, exportability), key),
    keyCheckValue: computeKeyCheckValue(kind.algorithm, key),
  })
  return {
    async generate(kind, exportability = 'N', signal) {
      if (kind.lengthBytes !== null) {
        return wrapKey(kind, await drawFitKey(kind, crypto.randomBytes), exportability)
      }
      if (kind.algorithm === 'R') return wrapKey(kind, await generateRsaKey(signal), exportability)
      const privateKey = generatePair(kind)
      return wrapKey(kind, privateKey.export({ format: 'der', type: 'pkcs8' }), exportability)
    },
    async import(kind, key) {
      refuseUnfitKey(kind, key)
      refuseWeakKey(kind.algorithm, key)
      return wrapKey(kind, key, 'N')
    },
    async open(kind, keyBlock) {
      const { header, key } = await unwrap(masterKeys, keyBlock)
      if (!keyEngine.matchesKind(kind, header, purposeIn(header))) {
        throw new Error('The key block has another use.')
      }
      refuseWeakKey(header.algorithm, key)
      return softwareKeys[kind.action](kind, key)
    },
    readKeyAttributes: (keyBlock) => readKeyBlockHeader(keyBlock).header,
    random: (lengthBytes) => crypto.randomBytes(lengthBytes),
  }
}

/** The block may be under a master key that another process has just rotated to. */
async function unwrap(masterKeys: MasterKeys, keyBlock: string): Promise<UnwrappedKeyBlock> {
  try {
    return masterKeys.unwrap(keyBlock)
  } catch {
    await masterKeys.refresh()
    return masterKeys.unwrap(keyBlock)
  }
}

/**
 * Generates a pair that takes little time.
 * @throws KeyRefusal if the OpenSSL of this runtime lacks the algorithm.
 */
function generatePair({ action }: KeyKind): crypto.KeyObject {
  if (action === 'signEd25519') return crypto.generateKeyPairSync('ed25519').privateKey
  if (action !== 'signMlDsa44') {
    return crypto.generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey
  }
  try {
    return crypto.generateKeyPairSync('ml-dsa-44').privateKey
  } catch (cause) {
    throw new KeyRefusal('This runtime does not support ML-DSA-44.', { cause })
  }
}

const signInBackground = promisify(crypto.sign)

/** The implementation of each action with the bytes of a key. */
const softwareKeys: {
  readonly [Action in KeyAction]: (kind: KeyKind, key: Uint8Array) => keyEngine.WorkingKeys[Action]
} = {
  blocks({ algorithm, modeOfUse }, key) {
    const cipher = parseCipher(algorithm)
    const { decipher, encipher } = ciphers[cipher]
    return keyEngine.inMode(modeOfUse, {
      cipher,
      encipher: async (blocks) => encipher(key, blocks),
      decipher: async (blocks) => decipher(key, blocks),
    })
  },
  chain({ algorithm }, key) {
    const encipher = chainCiphers[parseCipher(algorithm)]
    return {
      withA: async (blocks) => encipher(key.subarray(0, 8), blocks),
      withWhole: async (blocks) => encipher(key, blocks),
    }
  },
  cvv: (_, key) => ({
    encipherWithA: async (block) => encipherTdesEcb(key.subarray(0, 8), block),
    encipherWithBoth: async (block) => encipherTdesEcb(key, block),
  }),
  // XAES-256-GCM. Records of AES-256-GCM, which has a shorter nonce, can still be opened.
  seal(_, key) {
    const xaes = xaesKey(key)
    return {
      seal: async (nonce, associated, clear) => xaes.seal(nonce, associated, clear),
      open: async (nonce, associated, sealed) =>
        nonce.length === xaesNonceLength
          ? xaes.open(nonce, associated, sealed)
          : openAesGcm(key, nonce, associated, sealed),
    }
  },
  mac(_, key) {
    // Given bytes, Node creates such a key for each call, which takes several times as long.
    const secret = crypto.createSecretKey(key)
    return {
      mac: async (message) => crypto.createHmac('sha256', secret).update(message).digest(),
    }
  },
  // ES256 (RFC 7518, section 3.4).
  sign(_, pkcs8) {
    const key = readPkcs8(pkcs8)
    return {
      publicJwk: exportPublicJwk(key),
      sign: (message) => signInBackground('sha256', message, { key, dsaEncoding: 'ieee-p1363' }),
    }
  },
  signPss: (_, key) => softwarePssKey(key),
  signEd25519: (_, pkcs8) => messageSigningKey(pkcs8),
  signMlDsa44: (_, pkcs8) => messageSigningKey(pkcs8),
  unwrap: (_, key) => softwareUnwrappingKey(key),
  // ECDH on P-256, without a key derivation (SP 800-56A 5.7.1.2).
  agree(_, pkcs8) {
    const privateKey = readPkcs8(pkcs8)
    return {
      publicJwk: exportPublicJwk(privateKey),
      agree: async (publicKey) => crypto.diffieHellman({ privateKey, publicKey }),
    }
  },
}

const chainCiphers = {
  AES: (key: Uint8Array, blocks: Uint8Array) =>
    encipherAesCbc(key, Buffer.alloc(aesBlockLength), blocks).subarray(-aesBlockLength),
  TDES: (key: Uint8Array, blocks: Uint8Array) =>
    encipherTdesCbc(key, Buffer.alloc(desBlockLength), blocks).subarray(-desBlockLength),
} as const

const ciphers = {
  AES: { encipher: encipherAesEcb, decipher: decipherAesEcb },
  TDES: { encipher: encipherTdesEcb, decipher: decipherTdesEcb },
} as const

/** Signs with the algorithm of the key, which includes the hash. */
function messageSigningKey(pkcs8: Uint8Array): keyEngine.MessageSigningKey {
  const key = readPkcs8(pkcs8)
  const jwk = crypto.createPublicKey(key).export({ format: 'jwk' }) as Record<string, unknown>
  // The member is `x` in RFC 8037, and `pub` for ML-DSA in RFC 9964.
  const encoded = jwk.x ?? jwk.pub
  if (typeof encoded !== 'string') throw new Error('The key does not sign messages.')
  return {
    publicKey: Buffer.from(encoded, 'base64url'),
    sign: (message) => signInBackground(null, message, key),
  }
}

const readPkcs8 = (pkcs8: Uint8Array): crypto.KeyObject =>
  crypto.createPrivateKey({ key: Buffer.from(pkcs8), format: 'der', type: 'pkcs8' })

function exportPublicJwk(privateKey: crypto.KeyObject): keyEngine.SigningKey['publicJwk'] {
  const { x, y } = crypto.createPublicKey(privateKey).export({ format: 'jwk' })
  if (x === undefined || y === undefined) throw new Error('The key is not on a curve.')
  return { kty: 'EC', crv: 'P-256', x, y }
}
