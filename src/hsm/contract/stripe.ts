import type { Pan } from '../../domain/pan.ts'
import type { Secret } from '../../domain/secret.ts'
import type { Track2 } from '../../domain/stripe.ts'
import type { CardReference, KeyReference } from './card.ts'
import type { ChipReference } from './chip.ts'

/** A card verification value that was read from a card, with what it was made over. */
interface CardValue {
  /** As read. It must be the card's, too. */
  readonly pan: Pan
  /** YYMM, as read. */
  readonly expiry: string
  /** 3 digits: as read for a CVV, `999` for an iCVV. */
  readonly serviceCode: string
  /** Digits. */
  readonly value: Secret<string>
}

/** A dynamic CVC3, with what it was made over. */
interface CardCvc3 {
  /** As read. It must be the card's, too. */
  readonly pan: Pan
  /** The track as the card stores it, packed, with zeros for what changes. */
  readonly track: Secret<Uint8Array>
  /** 4 bytes, in digits. */
  readonly unpredictableNumber: Uint8Array
  /** 2 bytes. */
  readonly atc: Uint8Array
  /** The last digits, as many as the track holds. */
  readonly value: Secret<string>
}

/** A value of a 3-D Secure authentication, with what it was made over. */
interface AuthenticationValue {
  /** 4 digits, in place of an expiry. */
  readonly unpredictableNumber: string
  /** 3 digits, in place of a service code. */
  readonly authenticationResult: string
  /** 3 digits. */
  readonly value: Secret<string>
}

/**
 * The verbs on values of magnetic stripes and of 3-D Secure. Each compares in constant time, and
 * returns false for a key that does not exist and for inputs of another form.
 */
export interface StripeHsm {
  /** Whether a PAN that was read is the card's. */
  verifyPan(card: CardReference, pan: Pan): Promise<boolean>
  /** Whether a CVV or iCVV is the card's. */
  verifyCvv(card: CardReference, cvk: KeyReference, value: CardValue): Promise<boolean>
  /**
   * Whether a dynamic CVV is the card's (Visa, dCVV).
   * @param atc 4 digits, as read.
   */
  verifyDynamicCvv(
    chip: ChipReference,
    key: KeyReference,
    value: CardValue & { readonly atc: string },
  ): Promise<boolean>
  /** Whether a dynamic CVC3 is the card's (Mastercard). */
  verifyCvc3(chip: ChipReference, key: KeyReference, cvc3: CardCvc3): Promise<boolean>
  /**
   * Whether a CAVV was made for the card (Visa Secure; jPOS `calculateCAVV`): the CVV algorithm
   * with the unpredictable number as the expiry and the result of the authentication as the service
   * code.
   */
  verifyCavv(card: CardReference, key: KeyReference, value: AuthenticationValue): Promise<boolean>
}

/** The verb of a stripe itself. For the sandbox's simulator. */
export interface VirtualStripeHsm {
  /**
   * Reveals track 2 of the card's stripe, with its CVV.
   * @param expiry YYMM.
   * @param serviceCode 3 digits.
   */
  revealTrack2(
    card: CardReference,
    cvk: KeyReference,
    expiry: string,
    serviceCode: string,
  ): Promise<Track2>
}
