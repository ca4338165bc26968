import type { ChipProfileName } from './chip-profile.ts'
import type { Track2 } from './stripe.ts'

/**
 * Where the card verification values of a scheme are in the discretionary data of track 2. Another
 * scheme needs another profile, and no code.
 */
interface StripeProfile {
  /** The position of a CVV or iCVV, after the PIN verification data. */
  readonly cardValueAt: number
  /** The value of a contactless stripe; null where the scheme has none. */
  readonly dynamic: DynamicValue | null
  /** Whether 3-D Secure values are CAVVs of Visa's form. */
  readonly hasCavv: boolean
}

/** How the value of a contactless stripe is made, and where it is. */
type DynamicValue =
  | { readonly kind: 'dcvv'; readonly valueAt: number; readonly atcAt: number }
  | {
      readonly kind: 'cvc3'
      /** The positions of the digits of the CVC3, as PCVC3(Track2): bit 0 is the last digit. */
      readonly valueBits: number
      /** Those of the unpredictable number and the counter, as PUNATC(Track2). */
      readonly numberBits: number
      /** How many of the upper ones are digits of the counter, as NATC(Track2). */
      readonly atcDigits: number
    }

/** The usual layout of Visa: PIN verification data, value, counter, indicator. */
const visa = {
  cardValueAt: 5,
  dynamic: { kind: 'dcvv', valueAt: 5, atcAt: 8 },
  hasCavv: true,
} as const

/** EMV Contactless Book C-2: value, number and counter are where the card's bitmaps say. */
const mastercard = {
  cardValueAt: 5,
  dynamic: { kind: 'cvc3', valueBits: 0x000e, numberBits: 0x03f0, atcDigits: 3 },
  hasCavv: false,
} as const

export const stripeProfiles: Readonly<Record<ChipProfileName, StripeProfile>> = {
  'visa-cvn10': visa,
  'visa-cvn18': visa,
  'visa-cvn22': visa,
  'mastercard-16': mastercard,
  'mastercard-20': mastercard,
  'mastercard-17': mastercard,
  'mastercard-21': mastercard,
  cpa: { cardValueAt: 5, dynamic: null, hasCavv: false },
}

/** The number of digits of a CVV, and of the counter of a dynamic CVV. */
const cardValueLength = 3
const dynamicAtcLength = 4

/** Returns the CVV or iCVV of a track; null if the track is too short for one. */
export function readCardValue({ cardValueAt }: StripeProfile, track2: Track2): string | null {
  const { discretionary } = track2.reveal()
  const value = discretionary.slice(cardValueAt, cardValueAt + cardValueLength)
  return value.length === cardValueLength ? value : null
}

/** The value of a contactless stripe, with what it was made over. */
export type ReadDynamicValue = { readonly value: string; readonly atcDigits: string } & (
  | { readonly kind: 'dcvv' }
  | {
      readonly kind: 'cvc3'
      /** 4 bytes. */
      readonly unpredictableNumber: Uint8Array
      /** The track as the card stores it, packed. */
      readonly track: Uint8Array
    }
)

/** Returns the value of a contactless stripe; null if the track is too short for one. */
export function readDynamicValue(dynamic: DynamicValue, track2: Track2): ReadDynamicValue | null {
  const { discretionary } = track2.reveal()
  if (dynamic.kind === 'cvc3') return readCvc3(dynamic, track2)
  const { atcAt, valueAt } = dynamic
  const value = discretionary.slice(valueAt, valueAt + cardValueLength)
  const atcDigits = discretionary.slice(atcAt, atcAt + dynamicAtcLength)
  return atcDigits.length === dynamicAtcLength ? { kind: 'dcvv', value, atcDigits } : null
}

function readCvc3(
  { atcDigits: atcLength, numberBits, valueBits }: Extract<DynamicValue, { kind: 'cvc3' }>,
  track2: Track2,
): ReadDynamicValue | null {
  const { discretionary, expiry, pan, serviceCode } = track2.reveal()
  const digits = Array.from(discretionary)
  if (1 << digits.length <= Math.max(numberBits, valueBits)) return null
  const isIn = (bits: number, index: number): boolean =>
    ((bits >> (digits.length - 1 - index)) & 1) === 1
  const pick = (bits: number): string => digits.filter((_, index) => isIn(bits, index)).join('')
  const numbers = pick(numberBits)
  // The last digit says how many digits the unpredictable number has.
  const isStatic = (index: number): boolean =>
    !isIn(numberBits | valueBits, index) && index < digits.length - 1
  const stored = digits.map((digit, index) => (isStatic(index) ? digit : '0')).join('')
  const whole = `${pan.reveal()}D${expiry}${serviceCode}${stored}`
  return {
    kind: 'cvc3',
    value: pick(valueBits),
    atcDigits: numbers.slice(0, atcLength),
    unpredictableNumber: Buffer.from(numbers.slice(atcLength).padStart(8, '0'), 'hex'),
    track: Buffer.from(whole.length % 2 === 0 ? whole : `${whole}F`, 'hex'),
  }
}

/** The highest transaction counter. */
const atcMost = 65_535

/** How far from the highest counter a counter of a stripe may be. */
interface AtcBounds {
  /** The highest counter that was seen of the card; 0 if none was. */
  readonly highestAtc: number
  /** How far below it an unseen counter is accepted. */
  readonly atcWindow: number
  /** How far above it a counter is accepted. */
  readonly atcJump: number
}

/**
 * Completes a transaction counter of which a track has the last digits only. A stripe proves its
 * counter with few digits, so a counter beyond the bounds is refused. A dynamic CVV covers only the
 * digits of the track: they are the whole counter, so that no old stripe becomes a later one.
 *
 * @returns the one counter within the bounds, or the reason for the refusal.
 */
export function completeAtc(
  { atcDigits, kind }: Pick<ReadDynamicValue, 'atcDigits' | 'kind'>,
  { atcJump, atcWindow, highestAtc }: AtcBounds,
): number | 'too_low' | 'too_high' {
  const least = Math.max(highestAtc - atcWindow, 0)
  const most = Math.min(highestAtc + atcJump, atcMost)
  const known = Number(atcDigits)
  if (kind === 'dcvv') return known < least ? 'too_low' : known > most ? 'too_high' : known
  const step = 10 ** atcDigits.length
  const atc = known + Math.max(Math.ceil((least - known) / step), 0) * step
  if (atc <= most) return atc
  const below = atc - step
  return below >= 0 && least - below < atc - most ? 'too_low' : 'too_high'
}
