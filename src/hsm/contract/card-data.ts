import type { Expiry } from '../../domain/calendar.ts'
import type { CardReference, KeyReference, NewPinRules, SealedPin, StoredPin } from './card.ts'
import type { DeviceKeyName, keyCatalogue } from './catalogue.ts'

/** The card data to disclose to a device, and the time. */
export interface CardDisclosure {
  readonly card: CardReference
  readonly cvk: KeyReference
  readonly expiry: Expiry
  /** Null if the PIN is not disclosed. */
  readonly pin: StoredPin | null
  readonly at: Date
}

/** An imported key of a device. Only the HSM can use it, for one answer. */
export interface DeviceSeal<Sealed> {
  /** Seals a card's data to the key. The caller has already recorded the disclosure. */
  seal(disclosure: CardDisclosure): Promise<Sealed>
}

/** Card data under a session key: AES-256-CBC, PKCS#7. */
export interface SessionSealed {
  /** 16 bytes. */
  readonly iv: Uint8Array
  readonly encryptedPayload: Uint8Array
  /** RSA-PSS, SHA-256, salt 32, over the payload and then the iv. */
  readonly signatureOfPayloadAndIv: Uint8Array
}

/** A device's public key as received: EC on P-256, or OKP X25519 (RFC 7518 6.2, RFC 8037 2). */
export interface DeviceKeyJwk {
  readonly kty: string
  readonly crv: string
  readonly x: string
  readonly y?: string
}

/** The issuer of the answer, and the device's nonce. */
export interface DeviceKeyClaims {
  readonly issuer: string
  readonly nonce: string
}

/** The PIN in a device's envelope, or a refusal. The reason of a refusal is never stated. */
type ImportedEncryptedPin =
  | {
      readonly pin: StoredPin
      readonly chipPin: SealedPin | null
      readonly envelope: PinEnvelope
      readonly refusal: null
    }
  | {
      readonly pin: null
      readonly refusal: 'invalid_encrypted_pin' | 'weak_pin'
    }

/** Identifies an envelope, so that it is accepted once. */
interface PinEnvelope {
  /** SHA-256 of its `jti`. */
  readonly jtiHash: Uint8Array
  /** After this instant, the envelope's own `iat` makes it invalid. */
  readonly expiresAt: Date
}

type DevicePublication = (typeof keyCatalogue)[DeviceKeyName]['publication']

/** The public half of a card-data key, as it is published (RFC 7517). */
export interface CardDataKey {
  readonly keyId: string
  readonly use: DevicePublication['use']
  readonly algorithm: DevicePublication['algorithm']
  readonly publicJwk: Readonly<Record<string, string>>
  /** SubjectPublicKeyInfo in PEM (RFC 7468 13). */
  readonly publicPem: string
}

/**
 * Card data for devices, and PINs from devices. PAN, CVV2 and PIN leave the HSM only sealed. Every
 * verb throws `Problem` `unavailable` until its keys exist.
 */
export interface CardDataHsm {
  /** Lists every version in use. The newest active version of each purpose comes first. */
  cardDataKeys(): Promise<readonly CardDataKey[]>
  /** Generates the keys that take long, unless they exist. The signal aborts it. */
  generateCardDataKeys(signal?: AbortSignal): Promise<void>
  /**
   * Imports a session key: base64 of RSA-OAEP (SHA-256) over 32 bytes.
   * @returns null for any fault, after the same work.
   */
  importSessionKey(key: string): Promise<DeviceSeal<SessionSealed> | null>
  /**
   * Imports a device's public key. Its answers are compact JWEs around a JWS.
   * @returns null if the key is invalid, off its curve or of small order.
   */
  importDeviceKey(key: DeviceKeyJwk, claims: DeviceKeyClaims): Promise<DeviceSeal<string> | null>
  /**
   * Imports a PIN that a device sealed for this card.
   * @param at the current instant.
   */
  importEncryptedPin(
    card: CardReference,
    rules: NewPinRules,
    encryptedPin: string,
    at: Date,
  ): Promise<ImportedEncryptedPin>
}
