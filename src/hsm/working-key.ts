import type { KeyObject } from 'node:crypto'
import type { Sealed } from '../crypto/aes-gcm.ts'
import type { TokenSigningKey, ZoneKeyAlgorithm } from './hsm.ts'

/** Enciphers and deciphers whole blocks of its cipher, each by itself (ECB, SP 800-38A 6.1). */
export interface BlockKey {
  readonly cipher: ZoneKeyAlgorithm
  encipher(blocks: Uint8Array): Promise<Buffer>
  decipher(blocks: Uint8Array): Promise<Buffer>
}

/** A CVK pair: single DES under A, and encipher A, decipher B, encipher A under both. */
export interface CvvKey {
  encipherWithA(block: Uint8Array): Promise<Buffer>
  encipherWithBoth(block: Uint8Array): Promise<Buffer>
}

/** Seals with XAES-256-GCM, each message under a key of its own (c2sp.org/XAES-256-GCM). */
export interface SealingKey {
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
export interface MacKey {
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
   * @returns null when it does not open. No more is told, and it takes as long.
   */
  unwrap(wrapped: Uint8Array): Promise<Uint8Array | null>
}

/** Signs with RSASSA-PSS, SHA-256 and a salt of 32 bytes (RFC 8017 8.1). */
export interface PssKey {
  readonly publicJwk: RsaPublicJwk
  sign(message: Uint8Array): Promise<Uint8Array>
}

/** Agrees on a secret with the holder of another key on P-256 (SP 800-56A 5.7.1.2). */
export interface AgreementKey {
  readonly publicJwk: SigningKey['publicJwk']
  /** @returns Z, 32 bytes: the x coordinate of the shared point. */
  agree(publicKey: KeyObject): Promise<Uint8Array>
}

/** What a key does, never what it is: the same whether its bytes lie in this process or in a token. */
export interface WorkingKeys {
  readonly blocks: BlockKey
  readonly cvv: CvvKey
  readonly seal: SealingKey
  readonly mac: MacKey
  readonly sign: SigningKey
  readonly signPss: PssKey
  readonly unwrap: UnwrappingKey
  readonly agree: AgreementKey
}

export type KeyAction = keyof WorkingKeys
