import { createRequire } from 'node:module'

/** A session, slot or object, as the module numbers it. */
export type Handle = Buffer

export interface Attribute {
  readonly type: number
  readonly value: boolean | number | string | Buffer
}

export interface Mechanism {
  readonly mechanism: number
  readonly parameter?: GcmParameters | PssParameters | EcdhParameters
}

export interface GcmParameters {
  readonly type: number
  readonly iv: Buffer
  readonly ivBits: number
  readonly aad: Buffer
  readonly tagBits: number
}

export interface PssParameters {
  readonly type: number
  readonly hashAlg: number
  readonly mgf: number
  readonly saltLen: number
}

export interface EcdhParameters {
  readonly type: number
  readonly kdf: number
  readonly publicData: Buffer
}

/** The functions of PKCS#11 2.40 in use here, as `pkcs11js` offers them. Each throws on an error. */
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
 * @throws Error when the package `pkcs11js` is not installed or the module does not load.
 */
export function loadCryptoki(modulePath: string): Cryptoki {
  const cryptoki = newCryptoki()
  cryptoki.load(modulePath)
  cryptoki.C_Initialize()
  return cryptoki
}

function newCryptoki(): Cryptoki {
  try {
    // An optional dependency, of which not even the types are there where it could not be built.
    const { PKCS11 } = createRequire(import.meta.url)('pkcs11js') as { PKCS11: new () => Cryptoki }
    return new PKCS11()
  } catch (cause) {
    throw new Error('The package pkcs11js is not installed: it needs a C++ compiler.', { cause })
  }
}

/** The return value (CKR_…) in what the module threw, or null when it threw something else. */
export const returnValueOf = (error: unknown): number | null =>
  error instanceof Error && 'code' in error && typeof error.code === 'number' ? error.code : null
