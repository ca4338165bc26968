import type { Expiry } from '../domain/expiry.ts'

/** Names one version of one key: `pin-storage/1`. */
export type KeyReference = string

/** What the HSM needs to find a card's PAN. None of it is of use without the HSM. */
export interface CardReference {
  readonly publicToken: string
  readonly encryptedPan: Uint8Array
}

/** A PIN as it is kept: a format 4 block that it can be revealed from, or a PVV that it cannot. */
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
