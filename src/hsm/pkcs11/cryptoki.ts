import { createRequire } from 'node:module'

/**
 * Numbers of PKCS#11 2.40 (OASIS, "Current Mechanisms" and "Base Specification", header files);
 * those of Ed25519 are from 3.0.
 */

export const sessionFlags = { readWrite: 0x2, serial: 0x4 } as const

/** CKU_USER. */
export const normalUser = 1

/** CKO_… */
export const objectClass = { publicKey: 2, privateKey: 3, secretKey: 4 } as const

/** CKK_… */
export const keyType = {
  rsa: 0x0,
  ec: 0x3,
  ecEdwards: 0x40,
  genericSecret: 0x10,
  des2: 0x14,
  des3: 0x15,
  aes: 0x1f,
} as const

/** CKA_… */
export const attribute = {
  class: 0x0,
  token: 0x1,
  private: 0x2,
  label: 0x3,
  value: 0x11,
  keyType: 0x100,
  id: 0x102,
  sensitive: 0x103,
  encrypt: 0x104,
  decrypt: 0x105,
  wrap: 0x106,
  unwrap: 0x107,
  sign: 0x108,
  verify: 0x10a,
  derive: 0x10c,
  modulus: 0x120,
  modulusBits: 0x121,
  publicExponent: 0x122,
  valueLength: 0x161,
  extractable: 0x162,
  modifiable: 0x170,
  ecParameters: 0x180,
  ecPoint: 0x181,
} as const

/** CKM_… */
export const mechanism = {
  rsaKeyPairGeneration: 0x0,
  rsaX509: 0x3,
  rsaPss: 0xd,
  des2KeyGeneration: 0x130,
  des3KeyGeneration: 0x131,
  des3Ecb: 0x132,
  des3Cbc: 0x133,
  sha256Hmac: 0x251,
  genericSecretKeyGeneration: 0x350,
  ecKeyPairGeneration: 0x1040,
  ecdsa: 0x1041,
  ecdh1Derive: 0x1050,
  edwardsKeyPairGeneration: 0x1055,
  eddsa: 0x1057,
  aesKeyGeneration: 0x1080,
  aesEcb: 0x1081,
  aesCbc: 0x1082,
  aesGcm: 0x1087,
} as const

/** The parameter types of mechanisms in `pkcs11js`; those of GCM are from version 2.40. */
export const parametersType = { rsaPss: 5, ecdh1: 6, gcm: 7 } as const

/** CKM_SHA256, CKG_MGF1_SHA256, CKD_NULL: the values that parameters use. */
export const sha256 = 0x250
export const mgf1Sha256 = 0x2
export const noKeyDerivation = 0x1

/** CKR_… after which the same PIN must not be sent again: a token locks after a few attempts. */
export const pinRefusals: readonly number[] = [0xa0, 0xa1, 0xa2, 0xa3, 0xa4]

/** CKR_USER_ALREADY_LOGGED_IN. */
export const alreadyLoggedIn = 0x100

/** A session, slot or object, as the module numbers it. */
export type Handle = Buffer

export interface Attribute {
  readonly type: number
  readonly value: boolean | number | string | Buffer
}

export interface Mechanism {
  readonly mechanism: number
  /** Bytes are an IV. */
  readonly parameter?: GcmParameters | PssParameters | EcdhParameters | Buffer
}

interface GcmParameters {
  readonly type: number
  readonly iv: Buffer
  readonly ivBits: number
  readonly aad: Buffer
  readonly tagBits: number
}

interface PssParameters {
  readonly type: number
  readonly hashAlg: number
  readonly mgf: number
  readonly saltLen: number
}

interface EcdhParameters {
  readonly type: number
  readonly kdf: number
  readonly publicData: Buffer
}

/**
 * The functions of PKCS#11 2.40 that this service uses, as `pkcs11js` provides them. Each throws on
 * an error.
 */
export interface Cryptoki {
  load(path: string): void
  C_Initialize(): void
  C_Finalize(): void
  C_GetSlotList(tokenPresent: boolean): Handle[]
  C_GetTokenInfo(slot: Handle): { readonly label: string }
  C_OpenSession(slot: Handle, flags: number): Handle
  C_CloseSession(session: Handle): void
  C_Login(session: Handle, userType: number, pin: string): void
  C_GetSessionInfo(session: Handle): { readonly state: number }
  C_FindObjectsInit(session: Handle, template: readonly Attribute[]): void
  C_FindObjects(session: Handle, max: number): Handle[]
  C_FindObjectsFinal(session: Handle): void
  C_GetAttributeValue(
    session: Handle,
    object: Handle,
    template: readonly { readonly type: number }[],
  ): { readonly type: number; readonly value: Buffer }[]
  C_CreateObject(session: Handle, template: readonly Attribute[]): Handle
  C_DestroyObject(session: Handle, object: Handle): void
  C_GenerateKey(session: Handle, mechanism: Mechanism, template: readonly Attribute[]): Handle
  C_GenerateKeyPair(
    session: Handle,
    mechanism: Mechanism,
    publicTemplate: readonly Attribute[],
    privateTemplate: readonly Attribute[],
  ): { readonly privateKey: Handle; readonly publicKey: Handle }
  C_DeriveKey(
    session: Handle,
    mechanism: Mechanism,
    key: Handle,
    template: readonly Attribute[],
  ): Handle
  C_GenerateRandom(session: Handle, bytes: Buffer): Buffer
  C_EncryptInit(session: Handle, mechanism: Mechanism, key: Handle): void
  C_Encrypt(session: Handle, clear: Buffer, room: Buffer): Buffer
  C_EncryptFinal(session: Handle, room: Buffer): Buffer
  C_DecryptInit(session: Handle, mechanism: Mechanism, key: Handle): void
  C_Decrypt(session: Handle, enciphered: Buffer, room: Buffer): Buffer
  C_SignInit(session: Handle, mechanism: Mechanism, key: Handle): void
  C_Sign(session: Handle, message: Buffer, room: Buffer): Buffer
  C_SignFinal(session: Handle, room: Buffer): Buffer
}

/**
 * Loads a PKCS#11 module and initializes it.
 * @throws Error if the package `pkcs11js` is not installed or the module does not load.
 */
export function loadCryptoki(modulePath: string): Cryptoki {
  const cryptoki = newCryptoki()
  cryptoki.load(modulePath)
  cryptoki.C_Initialize()
  return cryptoki
}

function newCryptoki(): Cryptoki {
  try {
    // An optional dependency. If it could not be built, its types are missing, too.
    const { PKCS11 } = createRequire(import.meta.url)('pkcs11js') as { PKCS11: new () => Cryptoki }
    return new PKCS11()
  } catch (cause) {
    throw new Error(
      'The package pkcs11js is not installed, or npm has not compiled it. It needs a C++ ' +
        'compiler and its install script: npm rebuild pkcs11js --ignore-scripts=false.',
      { cause },
    )
  }
}

/** Returns the return value (CKR_…) in an error of the module, or null for other errors. */
export const findReturnValue = (error: unknown): number | null =>
  error instanceof Error && 'code' in error && typeof error.code === 'number' ? error.code : null
