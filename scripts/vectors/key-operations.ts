import { constants, createPrivateKey, type KeyObject, privateDecrypt } from 'node:crypto'
import { compactDecrypt, decodeProtectedHeader, importJWK, type JWK } from 'jose'
import { openAesGcm, sealAesGcm } from '../../src/crypto/aes-gcm.ts'
import { aesCmac, tdesCmac } from '../../src/crypto/cmac.ts'
import { concatKdf } from '../../src/crypto/key-agreement.ts'
import { unwrapKeyBlock, wrapKeyBlock } from '../../src/crypto/key-block.ts'
import { deriveKeyBlockKeys, type KeyBlockKeys } from '../../src/crypto/key-block-derivation.ts'
import { parseKeyBlockHeader, writeKeyBlockHeader } from '../../src/crypto/key-block-header.ts'
import { aesKeyCheckValue, tdesKeyCheckValue } from '../../src/crypto/key-check-value.ts'
import { areEqualBytes } from '../../src/crypto/refusal.ts'
import { removeOaepPadding } from '../../src/crypto/rsa-oaep-padding.ts'
import { combineComponents, hasOddParity, setOddParity } from '../../src/crypto/tdes-keys.ts'
import { keyBlockVariantsOf, unwrapAesKey, wrapAesKey } from '../../test/reference/keys.ts'
import { openJwe } from '../../test/reference/open-jwe.ts'
import {
  bytes,
  bytesList,
  HexDigits,
  type Inputs,
  numberOr,
  type Operation,
  object,
  optionalBytes,
  text,
  UncoveredRow,
} from './vector-file.ts'

/** The methods of key derivation by their names in the files. */
const methods: Readonly<Record<string, (kbpk: Uint8Array) => KeyBlockKeys>> = {
  kbVariant: keyBlockVariantsOf,
  kbDeriveB: (kbpk) => deriveKeyBlockKeys(kbpk, 'tdesCmac'),
  kbDeriveD: (kbpk) => deriveKeyBlockKeys(kbpk, 'aesCmac'),
}

/** The operations on keys: sealing, wrapping, key blocks, check values, parity. */
export const keyOperations: Readonly<Record<string, Operation>> = {
  seal: (inputs) => {
    const { ciphertext, tag } = sealAesGcm(
      bytes(inputs, 'key'),
      bytes(inputs, 'iv'),
      associated(inputs),
      bytes(inputs, 'plaintext'),
    )
    return { ciphertext, tag }
  },
  open: (inputs) => {
    const sealed = { ciphertext: bytes(inputs, 'ciphertext'), tag: bytes(inputs, 'tag') }
    const key = bytes(inputs, 'key')
    const iv = bytes(inputs, 'iv')
    const aad = associated(inputs)
    return { plaintext: openAesGcm(key, iv, aad, sealed) }
  },
  // A key of 16 or 24 bytes may be AES or TDES: the primitive's name decides.
  cmac: (inputs, primitive) => {
    const computeMac = /t?des/i.test(primitive) ? tdesCmac : aesCmac
    return { mac: computeMac(bytes(inputs, 'key'), bytes(inputs, 'message')) }
  },
  // Two primitives share these words; their keys have different names.
  wrap: (inputs) =>
    inputs.kbpk === undefined
      ? { wrapped: wrapAesKey(bytes(inputs, 'kek'), bytes(inputs, 'key')) }
      : { keyBlock: wrapped(inputs) },
  unwrap: (inputs) =>
    inputs.kbpk === undefined
      ? { key: unwrapAesKey(bytes(inputs, 'kek'), bytes(inputs, 'wrapped')) }
      : unwrapped(inputs),
  parseHeader: (inputs) => ({ ...parseKeyBlockHeader(text(inputs, 'header')) }),
  normaliseHeader: (inputs) => ({
    header: writeKeyBlockHeader(parseKeyBlockHeader(text(inputs, 'header'))),
  }),
  kbek: (inputs) => ({ kbek: derived(inputs).kbek }),
  kbak: (inputs) => ({ kbak: derived(inputs).kbak }),
  kcvTdes: (inputs) => ({ kcv: checkValue(tdesKeyCheckValue, bytes(inputs, 'key'), inputs) }),
  kcvAesCmac: (inputs) => ({ kcv: checkValue(aesKeyCheckValue, bytes(inputs, 'key'), inputs) }),
  components: (inputs) => {
    const key = combineComponents(bytesList(inputs, 'components'))
    // No TDES key has 32 bytes; for other lengths, the row states whether they are AES.
    const isAes = key.length === 32 || inputs.algorithm === 'AES'
    return { key, kcv: checkValue(isAes ? aesKeyCheckValue : tdesKeyCheckValue, key, inputs) }
  },
  note: (inputs) => ({
    tdes: tdesKeyCheckValue(bytes(inputs, 'key')),
    aesCmac: aesKeyCheckValue(bytes(inputs, 'key'), 3),
  }),
  setOddParity: (inputs) => ({ key: setOddParity(bytes(inputs, 'key')) }),
  isOddParity: (inputs) => ({ odd: hasOddParity(bytes(inputs, 'key')) }),
}

/** Versions A and C: their keys are derived, but their blocks are refused. */
function refuseOlderVersion(block: string, inputs: Inputs): string {
  if (/^[AC]/.test(block) && inputs.kbpk !== undefined) throw new UncoveredRow()
  return block
}

function wrapped(inputs: Inputs): string {
  const header = parseKeyBlockHeader(refuseOlderVersion(text(inputs, 'header'), inputs))
  const padding = optionalBytes(inputs, 'padding')
  return wrapKeyBlock(bytes(inputs, 'kbpk'), header, bytes(inputs, 'key'), padding)
}

function unwrapped(inputs: Inputs): Readonly<Record<string, unknown>> {
  const { header, headerText, key } = unwrapKeyBlock(
    bytes(inputs, 'kbpk'),
    refuseOlderVersion(text(inputs, 'keyBlock'), inputs),
  )
  return { ...header, header: headerText, key }
}

function derived(inputs: Inputs): KeyBlockKeys {
  const derive = methods[text(inputs, 'method')]
  if (!derive) throw new UncoveredRow()
  return derive(bytes(inputs, 'kbpk'))
}

const associated = (inputs: Inputs): Buffer => optionalBytes(inputs, 'aad') ?? Buffer.alloc(0)

/** The files give the length of a check value in hexadecimal digits. */
function checkValue(
  of: (key: Uint8Array, lengthBytes: number) => Buffer,
  key: Uint8Array,
  inputs: Inputs,
): HexDigits {
  const digits = numberOr(inputs, 'length', 6)
  return new HexDigits(of(key, Math.ceil(digits / 2)), digits)
}

/**
 * The operations on RSA: the token or OpenSSL computes the bare operation, our code the padding.
 */
export const rsaOperations: Readonly<Record<string, Operation>> = {
  rsaOaepDecrypt: (inputs) => {
    const key = createPrivateKey({ key: object(inputs, 'jwk'), format: 'jwk' })
    const label = inputs.label === undefined ? undefined : bytes(inputs, 'label')
    const message = removeOaepPadding(rsa(key, bytes(inputs, 'ciphertext')), label)
    return { message, plaintext: message }
  },
}

function rsa(key: KeyObject, ciphertext: Buffer): Buffer {
  try {
    return privateDecrypt({ key, padding: constants.RSA_NO_PADDING }, ciphertext)
  } catch {
    throw new RangeError('not a ciphertext of the key')
  }
}

/** The algorithms that a JWE may use with a key. */
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

/** The algorithms of a key without `alg`, by its type. */
const algorithmsByType: Readonly<Record<string, readonly string[]>> = {
  oct: ['dir', 'A128KW', 'A192KW', 'A256KW'],
  RSA: ['RSA-OAEP', 'RSA-OAEP-256'],
  EC: agreements,
  OKP: agreements,
}

/**
 * The operations on JWE. The product's own code decrypts only its own forms; jose does the rest.
 */
export const jweOperations: Readonly<Record<string, Operation>> = {
  decrypt: async (inputs) => {
    const jwe = text(inputs, 'jwe')
    const jwk = object(inputs, 'jwk')
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
  const policy = selectPolicy(jwk)
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

/** Returns the uses of a key: its own `alg` alone, or those of its type. */
function selectPolicy({ kty, alg, use = 'enc' }: Inputs): Policy {
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
