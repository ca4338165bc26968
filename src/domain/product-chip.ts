import type { ChipProfileName } from './chip-profile.ts'

/** How the chips of a product's physical cards work, and what is declined. */
export interface ProductChip {
  readonly profile: ChipProfileName
  /**
   * The version of the chip keys for each derivation key index, two hexadecimal digits, as the chip
   * sends it. An index that is not listed stands for the version with the same number.
   */
  readonly keyVersions: Readonly<Record<string, number>>
  /** A chip entry without chip data. */
  readonly missingData: ChipPolicy
  /** A magnetic stripe that is read at a terminal with a chip reader. */
  readonly fallback: ChipPolicy
  /** Chip data that differ from the fields of the message, such as another amount. */
  readonly disagreement: ChipPolicy
  /** A wrong CVV, iCVV, dCVV or CVC3 of track data, or a wrong CAVV. */
  readonly wrongCardValue: ChipPolicy
  /** How far below the highest transaction counter an unseen one is accepted: 0 to 63. */
  readonly atcWindow: number
  /** A transaction counter that is higher by more than this is recorded as a jump. */
  readonly atcJump: number
  /** The PAN sequence number that the bureau gives to the chip of a card's first plastic. */
  readonly firstPanSequenceNumber: number
}

/** The policies on card data that a request does not have. */
export type MissingDataPolicy = keyof Pick<
  ProductChip,
  'missingData' | 'fallback' | 'wrongCardValue'
>

/** Whether a finding declines, or is only recorded. */
export const chipPolicies = ['decline', 'record'] as const
type ChipPolicy = (typeof chipPolicies)[number]

/** The settings of a product's chip unless its operator chooses others. */
export const usualChip = {
  keyVersions: {},
  missingData: 'decline',
  fallback: 'decline',
  disagreement: 'record',
  wrongCardValue: 'decline',
  atcWindow: 16,
  atcJump: 100,
  firstPanSequenceNumber: 0,
} as const satisfies Omit<ProductChip, 'profile'>

/** The bounds of its numbers. */
export const chipBounds = {
  /** Fewer than the 64 transaction counters that are remembered of a chip. */
  atcWindow: { minimum: 0, maximum: 63 },
  atcJump: { minimum: 1, maximum: 65_535 },
  firstPanSequenceNumber: { minimum: 0, maximum: 99 },
} as const

/** A requested chip. Absent members keep their values, or get the usual ones. */
export type ProductChipDraft = Partial<ProductChip>

/** Completes a requested chip. The versions of keys are replaced whole. */
export const completeChip = (
  draft: ProductChipDraft | null,
  before: ProductChip | null,
): ProductChipDraft | null => draft && { ...usualChip, ...before, ...draft }

/** The version of the chip keys that a derivation key index stands for. */
export const findChipKeyVersion = (
  { keyVersions }: Pick<ProductChip, 'keyVersions'>,
  derivationKeyIndex: number,
): number =>
  keyVersions[derivationKeyIndex.toString(16).toUpperCase().padStart(2, '0')] ?? derivationKeyIndex
