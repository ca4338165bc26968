import type { Expiry } from '../../domain/calendar.ts'
import type { Cvv2 } from '../../domain/cvv2.ts'
import type { PublicToken } from '../../domain/identifiers.ts'
import type { Pan } from '../../domain/pan.ts'
import type { Pin } from '../../domain/pin.ts'
import type { Secret } from '../../domain/secret.ts'
import type { AuditHsm } from './audit.ts'
import type {
  CardNumber,
  CardReference,
  KeyReference,
  NewPinRules,
  PanFingerprint,
  PinRules,
  SealedPin,
  StoredPin,
} from './card.ts'
import type { CardDataHsm } from './card-data.ts'
import type { BlockCipher, MacUsage } from './catalogue.ts'
import type { ChipHsm, VirtualChipHsm } from './chip.ts'
import type { WrappedKey } from './stored-keys.ts'
import type { StripeHsm, VirtualStripeHsm } from './stripe.ts'

/**
 * An imported PIN, sealed for the chip if the card has one; or a refusal with its reason as a
 * sentence.
 */
type ImportedPin =
  | { readonly pin: StoredPin; readonly chipPin: SealedPin | null; readonly weakness: null }
  | { readonly pin: null; readonly weakness: string }

/** The fingerprints that identify a repeated request. */
interface RequestFingerprint {
  /** Of the client and its idempotency key. */
  readonly keyHash: Uint8Array
  /** Of the request. */
  readonly fingerprint: Uint8Array
}

/** The purpose of a sealed record. A record opens only for its purpose and subject. */
export type RecordPurpose =
  | 'personal-data'
  | 'note'
  | 'answer'
  | 'sandbox'
  | 'webhook-secret'
  | 'decision-keys'
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
  /** The key block of the zone key, or the HSM's reference to it. */
  readonly zoneKeyBlock: string
}

/**
 * A PIN block that the HSM has deciphered. The PIN stays inside the HSM; this object prints a mask.
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

/** The public half of a signing key for access tokens, as in RFC 7517. */
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
 * The HSM boundary. Clear PANs, PINs and keys exist only behind it, except in verbs named *reveal*.
 * Every verb throws `Problem` `unavailable` if the HSM gives no answer, and Error for values that
 * the HSM did not create.
 */
export interface Hsm
  extends CardDataHsm,
    AuditHsm,
    ChipHsm,
    VirtualChipHsm,
    StripeHsm,
    VirtualStripeHsm {
  /**
   * Generates an unpredictable card reference and a Luhn-valid 16-digit PAN of the BIN (ISO/IEC
   * 7812-1).
   * @param publicToken the reference; by default, the HSM generates it.
   */
  generateCardNumber(bin: string, cvk: string, publicToken?: PublicToken): Promise<CardNumber>
  /** Generates a PIN without bias, and again while it is weak. */
  generatePin(card: CardReference, rules: PinRules): Promise<StoredPin>
  /** Imports a PIN that the cardholder chose, unless it is weak and the rules reject weak PINs. */
  importPin(card: CardReference, rules: NewPinRules, pin: Pin): Promise<ImportedPin>
  /**
   * Enciphers the PIN of one card again for another card. The PIN does not change and stays inside
   * the HSM.
   */
  translatePin(from: CardReference, pin: SealedPin, to: CardReference): Promise<SealedPin>
  /** Reveals the PIN in clear. The caller has already recorded the disclosure. */
  revealPin(card: CardReference, pin: StoredPin): Promise<Pin>

  /**
   * Computes the fingerprints of a PAN: one for each version of their key, the active version
   * first.
   */
  fingerprintPan(pan: Pan): Promise<readonly PanFingerprint[]>
  /**
   * Deciphers a PIN block for a card, once, without comparing the PIN.
   * @param card the PAN that came with the block, or the stored card.
   * @returns null for any fault: the block does not hold 4 to 12 digits for this card.
   */
  openPinBlock(
    card: CardReference | { readonly pan: Pan },
    pinBlock: EncryptedPinBlock,
  ): Promise<OpenedPinBlock | null>
  /** Compares the PIN in an opened block with the card's PIN, in constant time. */
  verifyPin(
    card: CardReference,
    pin: StoredPin,
    pinLength: number,
    pinBlock: OpenedPinBlock,
  ): Promise<boolean>
  /** Computes the card's CVV2 and compares it, in constant time. */
  verifyCvv2(card: CardReference, cvk: KeyReference, expiry: Expiry, cvv2: Cvv2): Promise<boolean>
  /** Generates the PIN block that a terminal would send. For the sandbox's simulator. */
  generatePinBlock(
    card: CardReference,
    pin: Pin,
    format: PinBlockFormat,
    zoneKeyBlock: string,
  ): Promise<EncryptedPinBlock>

  /**
   * Generates the MAC of a message under a network's key, by the method of the key's usage.
   * @returns 8 bytes.
   */
  generateMac(macKeyBlock: string, message: Uint8Array): Promise<Uint8Array>
  /**
   * Compares a MAC of 4 to 8 bytes with the leftmost bytes of the expected one, in constant time.
   */
  verifyMac(macKeyBlock: string, message: Uint8Array, mac: Uint8Array): Promise<boolean>

  /** Enciphers text that belongs to a subject. Purpose and subject are the associated data. */
  sealRecord(purpose: RecordPurpose, subject: string, text: string): Promise<Uint8Array>
  /** Reveals the text of a record that was sealed for this purpose and subject. */
  revealRecord(purpose: RecordPurpose, subject: string, sealed: Uint8Array): Promise<string>
  /**
   * Computes keyed HMACs of a request and of its idempotency key, one pair for each version of
   * their key, the active version first. Unlike a plain hash, they do not reveal a PIN in the body.
   */
  fingerprintRequest(given: {
    readonly clientId: string
    readonly idempotencyKey: string
    /** Method, path and body. The body may contain a PIN. */
    readonly request: Secret<string>
  }): Promise<readonly RequestFingerprint[]>
  /**
   * Computes a keyed HMAC that replaces a caller's request id in records. Equal ids have equal
   * HMACs.
   */
  fingerprintRequestId(requestId: string): Promise<Uint8Array>

  /**
   * Generates a zone key in clear, TDES of double length or AES-256. Only for the sandbox, whose
   * test keys are public.
   */
  generateTestZoneKey(cipher: BlockCipher): Promise<Uint8Array>
  /** Imports a zone key in clear, as the sandbox's test keys are. Rejects weak keys. */
  importClearZoneKey(cipher: BlockCipher, key: Uint8Array): Promise<WrappedKey>
  /** Imports a MAC key in clear. Rejects weak keys. */
  importClearMacKey(usage: MacUsage, key: Uint8Array): Promise<WrappedKey>

  /**
   * Lists the signing keys of access tokens. The first one signs; all verify their own signatures.
   */
  tokenSigningKeys(): Promise<readonly TokenSigningKey[]>
  /** Resolves if the HSM answers. */
  ping(): Promise<void>
}
