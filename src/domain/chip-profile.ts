/**
 * How a scheme's chips make and check cryptograms. Another scheme needs another profile, and no
 * code.
 */
export interface ChipProfile {
  /** What follows the common tags: the verification results of the card, or all of 9F10. */
  readonly issuerData: { readonly from: number; readonly length: number | null }
  /** Padding 1 or 2 of ISO/IEC 9797-1. */
  readonly padding: 1 | 2
  /** EMV Book 2, A1.4. */
  readonly cardKey: 'A' | 'B'
  /** The key of the cryptogram. */
  readonly sessionKey: 'none' | 'common' | 'mChip'
  /** The answer to the chip: the method of EMV Book 2, 8.2, and its key. */
  readonly answer: { readonly method: 1 | 2; readonly key: 'card' | 'session' }
  /** How the keys of scripts are derived. */
  readonly messaging: 'visa' | 'common'
}

/**
 * The profiles by cryptogram version (Visa and Mastercard chip specifications; EMV Common Payment
 * Application).
 */
export const chipProfiles = {
  'visa-cvn10': {
    issuerData: { from: 3, length: 4 },
    padding: 1,
    cardKey: 'A',
    sessionKey: 'none',
    answer: { method: 1, key: 'card' },
    messaging: 'visa',
  },
  'visa-cvn18': {
    issuerData: { from: 0, length: null },
    padding: 2,
    cardKey: 'B',
    sessionKey: 'common',
    answer: { method: 2, key: 'session' },
    messaging: 'visa',
  },
  'visa-cvn22': {
    issuerData: { from: 0, length: null },
    padding: 2,
    cardKey: 'B',
    sessionKey: 'common',
    answer: { method: 2, key: 'session' },
    messaging: 'common',
  },
  'mastercard-16': {
    issuerData: { from: 2, length: 6 },
    padding: 2,
    cardKey: 'A',
    sessionKey: 'mChip',
    answer: { method: 1, key: 'card' },
    messaging: 'common',
  },
  'mastercard-20': {
    issuerData: { from: 2, length: 6 },
    padding: 2,
    cardKey: 'A',
    sessionKey: 'common',
    answer: { method: 1, key: 'session' },
    messaging: 'common',
  },
  cpa: {
    issuerData: { from: 0, length: null },
    padding: 2,
    cardKey: 'B',
    sessionKey: 'common',
    answer: { method: 2, key: 'session' },
    messaging: 'common',
  },
} as const satisfies Record<string, ChipProfile>

export type ChipProfileName = keyof typeof chipProfiles

export const chipProfileNames = Object.keys(chipProfiles) as readonly ChipProfileName[]

/** The tags whose values enter every cryptogram, with their lengths in bytes, in their order. */
const commonTags = [
  ['9F02', 6],
  ['9F03', 6],
  ['9F1A', 2],
  ['95', 5],
  ['5F2A', 2],
  ['9A', 3],
  ['9C', 1],
  ['9F37', 4],
  ['82', 2],
  ['9F36', 2],
] as const

/** The values of tags by tag, in upper-case hexadecimal digits. */
export type ChipTags = ReadonlyMap<string, Uint8Array>

/**
 * Composes the bytes that a cryptogram is made over.
 *
 * @returns null if a tag is missing or has another length.
 */
export function composeCryptogramData(
  { issuerData: { from, length } }: ChipProfile,
  tags: ChipTags,
): Buffer | null {
  const values = commonTags.map(([tag, bytes]) => {
    const value = tags.get(tag)
    return value?.length === bytes ? value : null
  })
  const applicationData = tags.get('9F10')
  const end = length === null ? applicationData?.length : from + length
  if (!applicationData || end === undefined || applicationData.length < end) return null
  const known = values.filter((value) => value !== null)
  if (known.length < values.length) return null
  return Buffer.concat([...known, applicationData.subarray(from, end)])
}
