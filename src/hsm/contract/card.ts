import type { Expiry } from '../../domain/calendar.ts'
import type { PublicToken } from '../../domain/identifiers.ts'

/** The name of one version of one key: `pin-storage/1`. */
export type KeyReference = string

/** The values from which the HSM obtains a card's PAN. They are useless without the HSM. */
export interface CardReference {
  readonly publicToken: PublicToken
  readonly encryptedPan: Uint8Array
}

/** The numbers of a new card. The PAN never leaves the HSM. */
export interface CardNumber extends CardReference {
  /** The fingerprints by which the card is found. No other card can have them. */
  readonly panFingerprints: readonly PanFingerprint[]
  /** First six and last four: `400000******1234`. */
  readonly maskedPan: string
  /** The key of the card's CVV, CVV2 and iCVV. */
  readonly cvk: KeyReference
}

/** Keyed HMAC of a PAN: equal for equal PANs. It reveals nothing else. */
export interface PanFingerprint {
  readonly fingerprint: Uint8Array
  /** The version of the HMAC key. */
  readonly keyVersion: number
}

/**
 * A stored PIN: a format 4 block, from which it can be revealed, or a PVV, from which it cannot.
 */
export type StoredPin =
  | { readonly pinBlock: Uint8Array; readonly pvv: null; readonly pinKey: KeyReference }
  | { readonly pinBlock: null; readonly pvv: string; readonly pinKey: KeyReference }

/** A stored PIN that can be revealed. */
export type SealedPin = Extract<StoredPin, { pvv: null }>

/** The PIN rules of a product and a card. */
export interface PinRules {
  readonly pinLength: number
  readonly pinRevealable: boolean
  readonly refuseWeakPins: boolean
  /** The product's PVV key. Used if the PIN is not revealable. */
  readonly pvk: string
  readonly maskedPan: string
  readonly expiry: Expiry
  /** `YYYY-MM-DD`. */
  readonly dateOfBirth: string
}

/** The same for a PIN that replaces another one. */
export interface NewPinRules extends PinRules {
  /** Whether a chip holds the PIN, too: it is then also sealed until the chip has changed it. */
  readonly hasChip: boolean
}
