import type { Expiry } from '../../domain/calendar.ts'
import type { Cvv2 } from '../../domain/cvv2.ts'
import type { Pan } from '../../domain/pan.ts'
import type { Pin } from '../../domain/pin.ts'
import type { Secret } from '../../domain/secret.ts'
import type { AuditHsm } from './audit.ts'
import type {
  CardNumber,
  CardReference,
  KeyReference,
  PanFingerprint,
  PinRules,
  StoredPin,
} from './card.ts'
import type { CardDataHsm } from './card-data.ts'
import type { BlockCipher, MacUsage } from './catalogue.ts'
import type { WrappedKey } from './stored-keys.ts'

/** A chosen PIN, taken in or refused with a sentence that says why. */
type ImportedPin =
  | { readonly pin: StoredPin; readonly weakness: null }
  | { readonly pin: null; readonly weakness: string }

/** What a request is remembered by. */
interface RequestFingerprint {
  /** Of the client and its idempotency key. */
  readonly keyHash: Uint8Array
  /** Of the request itself. */
  readonly fingerprint: Uint8Array
}

/** What a sealed record is for. A record sealed for one purpose and subject opens for no other. */
export type RecordPurpose =
  | 'personal-data'
  | 'note'
  | 'answer'
  | 'sandbox'
  | 'webhook-secret'
  | 'approval'

/** The formats of PIN blocks between zones (ISO 9564-1): 0, 1 and 3 under TDES, 4 under AES. */
export const pinBlockFormats = [
  'ISO_FORMAT_0',
  'ISO_FORMAT_1',
  'ISO_FORMAT_3',
  'ISO_FORMAT_4',
] as const
export type PinBlockFormat = (typeof pinBlockFormats)[number]

/** A PIN block as a card network sends it. */
export interface EncryptedPinBlock {
  readonly format: PinBlockFormat
  readonly bytes: Uint8Array
  /**
   * The key block of the zone key that it is enciphered under, or what the HSM has in its place.
   */
  readonly zoneKeyBlock: string
}

/**
 * A PIN block that the HSM has deciphered. Its PIN stays on the far side: this shows nothing but a
 * mask.
 */
export class OpenedPinBlock {
  readonly #mask = '****'

  toString(): string {
    return this.#mask
  }

  toJSON(): string {
    return this.#mask
  }

  [Symbol.for('nodejs.util.inspect.custom')](): string {
    return this.#mask
  }
}

/** The public half of an access token signing key, as in RFC 7517. */
export interface TokenSigningKey {
  readonly keyId: string
  readonly algorithm: 'ES256'
  readonly publicJwk: {
    readonly kty: 'EC'
    readonly crv: 'P-256'
    readonly x: string
    readonly y: string
  }
  /** @returns r and s, 32 bytes each (RFC 7518, section 3.4). */
  sign(message: Uint8Array): Promise<Uint8Array>
}

/**
 * The boundary. Clear PANs, PINs and keys exist on its far side only, except where a verb says
 * *reveal*. Every verb throws `Problem` `unavailable` when the HSM gives no answer, and Error when
 * what it is given was not made by it.
 */
export interface Hsm extends CardDataHsm, AuditHsm {
  /**
   * Draws an unpredictable card reference and a Luhn-valid 16-digit PAN of the BIN (ISO/IEC
   * 7812-1).
   */
  generateCardNumber(bin: string, cvk: string): Promise<CardNumber>
  /** Draws a PIN without bias, again while it is weak. */
  generatePin(card: CardReference, rules: PinRules): Promise<StoredPin>
  /** Takes in a PIN that the cardholder chose, unless it is weak and the rules refuse that. */
  importPin(card: CardReference, rules: PinRules, pin: Pin): Promise<ImportedPin>
  /** The PIN in clear. The caller has put the disclosure on record already. */
  revealPin(card: CardReference, pin: StoredPin): Promise<Pin>

  /**
   * The fingerprints that a PAN may be found by: one for each version of their key, the active
   * first.
   */
  fingerprintPan(pan: Pan): Promise<readonly PanFingerprint[]>
  /**
   * Deciphers a PIN block for a card, once. No PIN is compared.
   * @param card by its PAN as the block came with it, or as it is stored.
   * @returns null when it has no 4 to 12 digits for this card, whatever is wrong with it.
   */
  openPinBlock(
    card: CardReference | { readonly pan: Pan },
    pinBlock: EncryptedPinBlock,
  ): Promise<OpenedPinBlock | null>
  /** Compares the PIN in a block that was opened for the card with the card's, in constant time. */
  verifyPin(
    card: CardReference,
    pin: StoredPin,
    pinLength: number,
    pinBlock: OpenedPinBlock,
  ): Promise<boolean>
  /** Computes the card's CVV2 and compares it, in constant time. */
  verifyCvv2(card: CardReference, cvk: KeyReference, expiry: Expiry, cvv2: Cvv2): Promise<boolean>
  /** Makes the PIN block that a terminal would send. For the sandbox's simulator. */
  generatePinBlock(
    card: CardReference,
    pin: Pin,
    format: PinBlockFormat,
    zoneKeyBlock: string,
  ): Promise<EncryptedPinBlock>

  /**
   * The MAC of a message under a network's key, by the method of the key's usage.
   * @returns 8 bytes.
   */
  generateMac(macKeyBlock: string, message: Uint8Array): Promise<Uint8Array>
  /** Compares a MAC of 4 to 8 bytes with the left of the one that is due, in constant time. */
  verifyMac(macKeyBlock: string, message: Uint8Array, mac: Uint8Array): Promise<boolean>

  /** Enciphers text that belongs to a subject, with its purpose and subject as associated data. */
  sealRecord(purpose: RecordPurpose, subject: string, text: string): Promise<Uint8Array>
  /** The text of a record sealed for this purpose and subject. */
  revealRecord(purpose: RecordPurpose, subject: string, sealed: Uint8Array): Promise<string>
  /**
   * Keyed HMACs of a request and of the key that its caller gave it, one pair for each version of
   * their key, the active first: what a plain hash of a PIN would give away, they do not.
   */
  fingerprintRequest(given: {
    readonly clientId: string
    readonly idempotencyKey: string
    /** Method, path and body, which may have a PIN in it. */
    readonly request: Secret<string>
  }): Promise<readonly RequestFingerprint[]>
  /** A keyed HMAC that stands for a caller's request id on record: equal ids have equal ones. */
  fingerprintRequestId(requestId: string): Promise<Uint8Array>

  /**
   * Draws a zone key in clear, TDES of double length or AES-256. For the sandbox alone: its test
   * keys are known to everybody.
   */
  generateTestZoneKey(cipher: BlockCipher): Promise<Uint8Array>
  /**
   * Takes in a zone key that came in clear, as the sandbox's test keys do. Weak keys are refused.
   */
  importClearZoneKey(cipher: BlockCipher, key: Uint8Array): Promise<WrappedKey>
  /** The same of a key for MACs. */
  importClearMacKey(usage: MacUsage, key: Uint8Array): Promise<WrappedKey>

  /**
   * The keys that access tokens are signed with; the first signs, all verify what they have signed.
   */
  tokenSigningKeys(): Promise<readonly TokenSigningKey[]>
  /** Answers when the HSM does. */
  ping(): Promise<void>
}
