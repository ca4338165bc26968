import type { Expiry } from '../../domain/calendar.ts'
import type { PublicToken } from '../../domain/identifiers.ts'

/** Names one version of one key: `pin-storage/1`. */
export type KeyReference = string

/** What the HSM needs to find a card's PAN. None of it is of use without the HSM. */
export interface CardReference {
  readonly publicToken: PublicToken
  readonly encryptedPan: Uint8Array
}

/** A new card's numbers. The PAN itself never leaves the HSM. */
export interface CardNumber extends CardReference {
  /** What the card is found by, and no other card may have. */
  readonly panFingerprints: readonly PanFingerprint[]
  /** First six and last four: `400000******1234`. */
  readonly maskedPan: string
  /** The key that the card's CVV, CVV2 and iCVV are made under. */
  readonly cvk: KeyReference
}

/** Keyed HMAC of a PAN: equal for equal PANs, and nothing else can be learned from it. */
export interface PanFingerprint {
  readonly fingerprint: Uint8Array
  /** The version of the key that it was made under. */
  readonly keyVersion: number
}

/**
 * A PIN as it is stored: a format 4 block that it can be revealed from, or a PVV that it cannot.
 */
export type StoredPin =
  | { readonly pinBlock: Uint8Array; readonly pvv: null; readonly pinKey: KeyReference }
  | { readonly pinBlock: null; readonly pvv: string; readonly pinKey: KeyReference }

/** What a product and a card ask of a PIN. */
export interface PinRules {
  readonly pinLength: number
  readonly pinRevealable: boolean
  readonly refuseWeakPins: boolean
  /** The product's key for PVVs. Used where the PIN is not revealable. */
  readonly pvk: string
  readonly maskedPan: string
  readonly expiry: Expiry
  /** `YYYY-MM-DD`. */
  readonly dateOfBirth: string
}
