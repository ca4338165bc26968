import type { KeyObject } from 'node:crypto'
import type { Sealed } from '../../crypto/aes-gcm.ts'
import type { MacChain } from '../../crypto/message-mac.ts'
import type * as catalogue from '../contract/catalogue.ts'
import type { TokenSigningKey } from '../contract/hsm.ts'
import type { KeyAttributes } from '../contract/key-administration.ts'
import type { WrappedKey } from '../contract/stored-keys.ts'

/** `E`: under a zone master key; `N`: never (X9.143, table 8). */
export type Exportability = 'E' | 'N'

/** Where keys are made and work: this is what implementations of the HSM differ in. */
export interface KeyEngine {
  /**
   * Makes a key that never leaves, unless it is said to be exportable. The signal may end a slow
   * one.
   */
  generate(
    kind: catalogue.KeyKind,
    exportability?: Exportability,
    signal?: AbortSignal,
  ): Promise<WrappedKey>
  /** Takes in a key that came in clear. @throws Error when it is weak or of another length. */
  import(kind: catalogue.KeyKind, key: Uint8Array): Promise<WrappedKey>
  /**
   * Opens a wrapped key for what its kind does.
   * @throws Error when it was not made here, is weak, or was made for another use.
   */
  open<Action extends catalogue.KeyAction>(
    kind: catalogue.KeyKind & { readonly action: Action },
    keyBlock: string,
  ): Promise<WorkingKeys[Action]>
  /** What a wrapped key says of itself. Nothing of it is verified before the key is opened. */
  readKeyAttributes(keyBlock: string): KeyAttributes
  /** Unpredictable bytes. */
  random(lengthBytes: number): Promise<Uint8Array> | Uint8Array
}

/**
 * Whether a key is what its kind says. A block moved to another row must not turn a key into one
 * with another use or purpose; one that was made before keys named their purpose is taken for its
 * use alone.
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

/** Enciphers and deciphers whole blocks of its cipher, each by itself (ECB, SP 800-38A 6.1). */
export interface BlockKey {
  readonly cipher: catalogue.BlockCipher
  encipher(blocks: Uint8Array): Promise<Buffer>
  decipher(blocks: Uint8Array): Promise<Buffer>
}

/** A CVK pair: single DES under A, and encipher A, decipher B, encipher A under both. */
export interface CvvKey {
  encipherWithA(block: Uint8Array): Promise<Buffer>
  encipherWithBoth(block: Uint8Array): Promise<Buffer>
}

/** Seals with XAES-256-GCM, each message under a key of its own (c2sp.org/XAES-256-GCM). */
interface SealingKey {
  /** @param nonce 24 random bytes. */
  seal(nonce: Uint8Array, associated: Uint8Array, clear: Uint8Array): Promise<Sealed>
  /**
   * @param nonce 24 bytes; or 12, of what was sealed with AES-256-GCM itself (SP 800-38D).
   * @throws Error when anything of it is not what was sealed.
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

/** Opens what is under RSA-OAEP with SHA-256, MGF1-SHA-256 and an empty label (RFC 8017 7.1). */
export interface UnwrappingKey {
  readonly publicJwk: RsaPublicJwk
  /**
   * @param wrapped as long as the modulus, and below it.
   * @returns null when it does not open. No more is said, and it takes as long.
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
  /** As its standard encodes it: 32 bytes, or 1,312. */
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

/**
 * What a key does, never what it is: the same whether its bytes lie in this process or in a token.
 */
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

/** What the key of a name does. */
export type WorkingKey<Name extends catalogue.KeyName> =
  WorkingKeys[(typeof catalogue.keyCatalogue)[Name]['kind']['action']]

/**
 * What a mode of use lets a key over blocks do (X9.143, table 7); a PVK (`C`) makes and never
 * opens.
 */
const allowed: Readonly<Record<string, readonly ('encipher' | 'decipher')[]>> = {
  B: ['encipher', 'decipher'],
  C: ['encipher'],
  D: ['decipher'],
}

/** The same key, which does what its mode of use allows and throws Error at the rest. */
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
