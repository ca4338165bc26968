import type { Expiry } from '../../domain/calendar.ts'
import type { CardReference, KeyReference, PinRules, StoredPin } from './card.ts'
import type { DeviceKeyName, keyCatalogue } from './catalogue.ts'

/** What a device is shown of a card, and when. */
export interface CardDisclosure {
  readonly card: CardReference
  readonly cvk: KeyReference
  readonly expiry: Expiry
  /** Null where the PIN is not shown. */
  readonly pin: StoredPin | null
  readonly at: Date
}

/** A device's key, taken in. Of use to the HSM alone, and for one answer. */
export interface DeviceSeal<Sealed> {
  /** Seals a card's data to the key. The caller has put the disclosure on record already. */
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

/** A device's public key, as it came: EC on P-256, or OKP X25519 (RFC 7518 6.2, RFC 8037 2). */
export interface DeviceKeyJwk {
  readonly kty: string
  readonly crv: string
  readonly x: string
  readonly y?: string
}

/** Who answers, and what the device gave to know its answer by. */
export interface DeviceKeyClaims {
  readonly issuer: string
  readonly nonce: string
}

/** A PIN in a device's envelope, taken in or refused. Why an envelope is refused is never said. */
type ImportedEncryptedPin =
  | { readonly pin: StoredPin; readonly envelope: PinEnvelope; readonly refusal: null }
  | {
      readonly pin: null
      readonly refusal: 'invalid_encrypted_pin' | 'weak_pin'
    }

/** What an envelope is known by, so that it is taken once. */
interface PinEnvelope {
  /** SHA-256 of its `jti`. */
  readonly jtiHash: Uint8Array
  /** From here on its own `iat` refuses it. */
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
 * Card data to the device, and PINs from it. PAN, CVV2 and PIN leave sealed only. Every verb throws
 * `Problem` `unavailable` until the keys that it needs have been made.
 */
export interface CardDataHsm {
  /** Every version in use, of each purpose the newest active one first. */
  cardDataKeys(): Promise<readonly CardDataKey[]>
  /** Makes the keys that take long to make, unless they are there. The signal ends it. */
  generateCardDataKeys(signal?: AbortSignal): Promise<void>
  /**
   * Takes in a session key: base64 of RSA-OAEP (SHA-256) over 32 bytes.
   * @returns null whatever is wrong with it, after the same work.
   */
  importSessionKey(key: string): Promise<DeviceSeal<SessionSealed> | null>
  /**
   * Takes in a device's public key. What it seals is a compact JWE around a JWS.
   * @returns null when it is no such key, off its curve or of small order.
   */
  importDeviceKey(key: DeviceKeyJwk, claims: DeviceKeyClaims): Promise<DeviceSeal<string> | null>
  /** Takes in a PIN that was sealed on a device for this card, at an instant. */
  importEncryptedPin(
    card: CardReference,
    rules: PinRules,
    encryptedPin: string,
    at: Date,
  ): Promise<ImportedEncryptedPin>
}
