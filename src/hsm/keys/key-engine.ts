import type { KeyObject } from 'node:crypto'
import type { Sealed } from '../../crypto/aes-gcm.ts'
import type { MacChain } from '../../crypto/message-mac.ts'
import type * as catalogue from '../contract/catalogue.ts'
import type { TokenSigningKey } from '../contract/hsm.ts'
import type { KeyAttributes } from '../contract/key-administration.ts'
import type { WrappedKey } from '../contract/stored-keys.ts'

/** `E`: under a zone master key; `N`: never (X9.143, table 8). */
export type Exportability = 'E' | 'N'

/** Generates and uses keys. The implementations of the HSM differ only in this engine. */
export interface KeyEngine {
  /** Generates a key, which is not exportable unless stated. The signal can abort a slow one. */
  generate(
    kind: catalogue.KeyKind,
    exportability?: Exportability,
    signal?: AbortSignal,
  ): Promise<WrappedKey>
  /**
   * Imports a key in clear.
   * @throws Error if it is weak or of another length.
   */
  import(kind: catalogue.KeyKind, key: Uint8Array): Promise<WrappedKey>
  /**
   * Opens a wrapped key for the action of its kind.
   * @throws Error if the key was not wrapped here, is weak, or has another use.
   */
  open<Action extends catalogue.KeyAction>(
    kind: catalogue.KeyKind & { readonly action: Action },
    keyBlock: string,
  ): Promise<WorkingKeys[Action]>
  /** Reads the attributes of a wrapped key. They are not verified before the key is opened. */
  readKeyAttributes(keyBlock: string): KeyAttributes
  /** Unpredictable bytes. */
  random(lengthBytes: number): Promise<Uint8Array> | Uint8Array
}

/**
 * Whether a key has the attributes of its kind. A block that was moved to another row must not
 * become a key with another use or purpose. A key from before keys named their purpose is accepted
 * by its use only.
 */
export const matchesKind = (
  kind: catalogue.KeyKind,
  { algorithm, keyUsage, modeOfUse }: Omit<KeyAttributes, 'exportability'>,
  purpose: string | null,
): boolean =>
  keyUsage === kind.keyUsage &&
  algorithm === kind.algorithm &&
  modeOfUse === kind.modeOfUse &&
  (purpose ?? kind.purpose) === kind.purpose

/**
 * Enciphers and deciphers whole blocks of its cipher, each block separately (ECB, SP 800-38A 6.1).
 */
export interface BlockKey {
  readonly cipher: catalogue.BlockCipher
  encipher(blocks: Uint8Array): Promise<Buffer>
  decipher(blocks: Uint8Array): Promise<Buffer>
}

/** A CVK pair: single DES with A, and encipher A, decipher B, encipher A with both. */
export interface CvvKey {
  encipherWithA(block: Uint8Array): Promise<Buffer>
  encipherWithBoth(block: Uint8Array): Promise<Buffer>
}

/** Seals with XAES-256-GCM, which derives a key for each message (c2sp.org/XAES-256-GCM). */
interface SealingKey {
  /** @param nonce 24 random bytes. */
  seal(nonce: Uint8Array, associated: Uint8Array, clear: Uint8Array): Promise<Sealed>
  /**
   * @param nonce 24 bytes; or 12 for records sealed with AES-256-GCM (SP 800-38D).
   * @throws Error if any part differs from what was sealed.
   */
  open(
    nonce: Uint8Array,
    associated: Uint8Array,
    sealed: { readonly ciphertext: Uint8Array; readonly tag: Uint8Array },
  ): Promise<Buffer>
}

/** Authenticates a message with HMAC-SHA-256 (FIPS 198-1). */
interface MacKey {
  mac(message: Uint8Array): Promise<Buffer>
}

/** Signs with ECDSA on P-256 and SHA-256. */
export type SigningKey = Pick<TokenSigningKey, 'publicJwk' | 'sign'>

/** The public half of an RSA key (RFC 7518 6.3.1). */
export interface RsaPublicJwk {
  readonly kty: 'RSA'
  readonly n: string
  readonly e: string
}

/** Decrypts RSA-OAEP with SHA-256, MGF1-SHA-256 and an empty label (RFC 8017 7.1). */
export interface UnwrappingKey {
  readonly publicJwk: RsaPublicJwk
  /**
   * @param wrapped as long as the modulus, and less than it.
   * @returns null if decryption fails, without a reason and in the same time.
   */
  unwrap(wrapped: Uint8Array): Promise<Uint8Array | null>
}

/** Signs with RSASSA-PSS, SHA-256 and a salt of 32 bytes (RFC 8017 8.1). */
export interface PssKey {
  readonly publicJwk: RsaPublicJwk
  sign(message: Uint8Array): Promise<Uint8Array>
}

/** Signs whole messages: Ed25519 (RFC 8032), or ML-DSA-44 with an empty context (FIPS 204). */
export interface MessageSigningKey {
  /** In the encoding of its standard: 32 bytes, or 1,312. */
  readonly publicKey: Uint8Array
  /** @returns 64 bytes, or 2,420. */
  sign(message: Uint8Array): Promise<Uint8Array>
}

/** Agrees on a secret with the holder of another key on P-256 (SP 800-56A 5.7.1.2). */
interface AgreementKey {
  readonly publicJwk: SigningKey['publicJwk']
  /** @returns Z, 32 bytes: the x coordinate of the shared point. */
  agree(publicKey: KeyObject): Promise<Uint8Array>
}

/** The actions of keys, without their values: the same in this process and in a token. */
export interface WorkingKeys {
  readonly blocks: BlockKey
  readonly chain: MacChain
  readonly cvv: CvvKey
  readonly seal: SealingKey
  readonly mac: MacKey
  readonly sign: SigningKey
  readonly signPss: PssKey
  readonly signEd25519: MessageSigningKey
  readonly signMlDsa44: MessageSigningKey
  readonly unwrap: UnwrappingKey
  readonly agree: AgreementKey
}

/** The action of the key with a name. */
export type WorkingKey<Name extends catalogue.KeyName> =
  WorkingKeys[(typeof catalogue.keyCatalogue)[Name]['kind']['action']]

/**
 * The operations that a mode of use allows (X9.143, table 7). A PVK (`C`) only generates; the keys
 * of chips are derived (`X`) by enciphering.
 */
const allowed: Readonly<Record<string, readonly ('encipher' | 'decipher')[]>> = {
  B: ['encipher', 'decipher'],
  C: ['encipher'],
  D: ['decipher'],
  X: ['encipher'],
}

/** Restricts a key to the operations of its mode of use; other operations throw Error. */
export function inMode(modeOfUse: string, key: BlockKey): BlockKey {
  const can = allowed[modeOfUse] ?? []
  return {
    cipher: key.cipher,
    encipher: can.includes('encipher') ? key.encipher : refuse,
    decipher: can.includes('decipher') ? key.decipher : refuse,
  }
}

const refuse = async (): Promise<never> => {
  throw new Error('The mode of use of the key does not allow this.')
}
