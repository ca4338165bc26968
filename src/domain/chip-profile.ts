/**
 * How a scheme's chips make and check cryptograms. Another scheme needs another profile, and no
 * code.
 */
export interface ChipProfile {
  /** The parts of 9F10 after the common tags, in their order. A length of null is to the end. */
  readonly issuerData: readonly DataRange[]
  /** Padding 1 or 2 of ISO/IEC 9797-1. */
  readonly padding: 1 | 2
  /** EMV Book 2, A1.4. */
  readonly cardKey: 'A' | 'B'
  /** The key of the cryptogram. */
  readonly sessionKey: 'none' | 'common' | 'mChip'
  /** The answer to the chip: the method of EMV Book 2, 8.2, its key, and its content. */
  readonly answer: {
    readonly method: 1 | 2
    readonly key: 'card' | 'session'
    readonly told: ToldDecision
  }
  readonly messaging: ChipMessaging
  readonly applicationData: ApplicationDataLayout
}

interface DataRange {
  readonly from: number
  readonly length: number | null
}

/**
 * The issuer's decision in tag 91: the response code in ASCII characters, or bytes in hexadecimal
 * digits and the bit of them that approves.
 */
type ToldDecision =
  | 'response_code'
  | { readonly approval: string; readonly decline: string; readonly approvedAt: NumberedBit }

/** How commands to a chip are protected (EMV Book 2, 9; the schemes' own chip specifications). */
interface ChipMessaging {
  /** How the keys of a command are derived. */
  readonly sessionKey: 'visa' | 'common'
  /** The form of a new PIN in clear: Visa's own, or ISO 9564-1 format 2. */
  readonly pinForm: 'visa' | 'format2'
  /** How the new PIN is filled up and enciphered. */
  readonly encipherment: 'visa' | 'mastercard' | 'emv'
}

/**
 * The template of a command: 71 is carried out before the chip decides on the transaction, 72
 * afterwards (EMV Book 3, 10.10).
 */
export type CommandTemplate = '71' | '72'

/** A bit as the specifications number it: its byte from 1, and 8 for the highest bit of a byte. */
type NumberedBit = readonly [byte: number, bit: number]

/** A number in one half of a byte; bytes are numbered from 1. */
interface HalfByte {
  readonly byte: number
  readonly half: 'high' | 'low'
}

/**
 * What a chip reports in 9F10. Bytes and bits are those of the card verification results (CVR),
 * which are a part of it.
 */
export interface ApplicationDataLayout {
  /** An online request in hexadecimal digits, with no other bit set that is named below. */
  readonly template: string
  /** The positions that have the bytes of the template in each message of the profile. */
  readonly fixedAt: readonly number[]
  /** The numbers of bytes that a message may have. */
  readonly lengths: { readonly least: number; readonly most: number }
  readonly derivationKeyIndexAt: number
  /** The position of the first byte of the CVR. */
  readonly resultsAt: number
  /** Has the kinds of the cryptograms of the transaction (EMV Book 3, annex C7.3). */
  readonly cryptogramKindsByte: number
  readonly offlinePin: {
    readonly performed: NumberedBit
    readonly failed: NumberedBit
    /** The tries of the PIN in the chip are used up. */
    readonly blocked: NumberedBit
    /** The remaining tries; null where the chip does not report them. */
    readonly remainingTries: HalfByte | null
  }
  readonly commands: {
    /** How many commands of the previous answer the chip executed. */
    readonly processed: HalfByte
    /** The templates whose commands it counts. */
    readonly countedTemplates: readonly CommandTemplate[]
    readonly failed: NumberedBit
    /** The last online transaction was not completed; null where the chip does not report it. */
    readonly lastOnlineIncomplete: NumberedBit | null
  }
}

/** Visa, issuer application data of format 1, and its CVR of 4 bytes with their length. */
const visaFormat1 = {
  fixedAt: [0, 2, 3],
  lengths: { least: 7, most: 32 },
  derivationKeyIndexAt: 1,
  resultsAt: 3,
  cryptogramKindsByte: 2,
  offlinePin: { performed: [2, 3], failed: [2, 2], blocked: [3, 7], remainingTries: null },
  commands: {
    processed: { byte: 4, half: 'high' },
    // After the second cryptogram only.
    countedTemplates: ['72'],
    failed: [4, 4],
    lastOnlineIncomplete: [3, 8],
  },
} as const satisfies Omit<ApplicationDataLayout, 'template'>

/** Visa, issuer application data of format 2, with the CVR of the common core definitions. */
const visaFormat2 = {
  fixedAt: [0, 1],
  lengths: { least: 32, most: 32 },
  derivationKeyIndexAt: 2,
  resultsAt: 3,
  cryptogramKindsByte: 1,
  offlinePin: {
    performed: [2, 4],
    failed: [2, 3],
    blocked: [2, 2],
    remainingTries: { byte: 2, half: 'high' },
  },
  commands: {
    processed: { byte: 4, half: 'high' },
    countedTemplates: ['71', '72'],
    failed: [4, 4],
    lastOnlineIncomplete: [2, 1],
  },
} as const satisfies Omit<ApplicationDataLayout, 'template'>

/** EMV Book 3, annex C7: format A of the common core definitions, with a second length of 0F. */
const commonCore = {
  ...visaFormat2,
  fixedAt: [0, 1, 16],
} as const satisfies Omit<ApplicationDataLayout, 'template'>

/**
 * M/Chip 4 and M/Chip Advance, with a CVR of 6 bytes; as jPOS (`CVRMastercard`) and emv-utils
 * (`EMV_IAD_MCHIP_CVR`) read them.
 */
const mChip = {
  fixedAt: [1],
  lengths: { least: 8, most: 32 },
  derivationKeyIndexAt: 0,
  resultsAt: 2,
  cryptogramKindsByte: 1,
  offlinePin: {
    performed: [1, 3],
    failed: [4, 5],
    blocked: [4, 4],
    remainingTries: { byte: 3, half: 'low' },
  },
  commands: {
    processed: { byte: 3, half: 'high' },
    countedTemplates: ['71', '72'],
    failed: [5, 1],
    lastOnlineIncomplete: null,
  },
} as const satisfies Omit<ApplicationDataLayout, 'template'>

const mChipWithCounters = { ...mChip, lengths: { least: 18, most: 26 } } as const

const wholeData = [{ from: 0, length: null }] as const satisfies readonly DataRange[]

/** The card verification results of M/Chip. */
const mChipResults = [{ from: 2, length: 6 }] as const satisfies readonly DataRange[]

/** The same, and the counters: 8 bytes, or 16 of M/Chip Advance. */
const mChipCounters = [
  ...mChipResults,
  { from: 10, length: null },
] as const satisfies readonly DataRange[]

/** The card status update (EMV Book 3, annex C9). */
const statusUpdate = {
  approval: '00800000',
  decline: '00000000',
  approvedAt: [2, 8],
} as const satisfies ToldDecision

/**
 * The response code that M/Chip reads. Bit 4 of its second byte would set the tries of the PIN, so
 * it is never set.
 */
const mChipCode = {
  approval: '0010',
  decline: '0000',
  approvedAt: [2, 5],
} as const satisfies ToldDecision

/** Visa, cryptogram versions 10 and 18. */
const visaMessaging = {
  sessionKey: 'visa',
  pinForm: 'visa',
  encipherment: 'visa',
} as const satisfies ChipMessaging

/** M/Chip pads no PIN, because a block of format 2 is a whole one. */
const mChipMessaging = {
  sessionKey: 'common',
  pinForm: 'format2',
  encipherment: 'mastercard',
} as const satisfies ChipMessaging

/**
 * The profiles by cryptogram version (Visa and Mastercard chip specifications; EMV Common Payment
 * Application).
 */
export const chipProfiles = {
  'visa-cvn10': {
    issuerData: [{ from: 3, length: 4 }],
    padding: 1,
    cardKey: 'A',
    sessionKey: 'none',
    answer: { method: 1, key: 'card', told: 'response_code' },
    messaging: visaMessaging,
    applicationData: { ...visaFormat1, template: '06010A03A00000' },
  },
  'visa-cvn18': {
    issuerData: wholeData,
    padding: 2,
    cardKey: 'B',
    sessionKey: 'common',
    answer: { method: 2, key: 'session', told: statusUpdate },
    messaging: visaMessaging,
    applicationData: { ...visaFormat1, template: '06011203A00000' },
  },
  'visa-cvn22': {
    issuerData: wholeData,
    padding: 2,
    cardKey: 'B',
    sessionKey: 'common',
    answer: { method: 2, key: 'session', told: statusUpdate },
    messaging: { sessionKey: 'common', pinForm: 'format2', encipherment: 'visa' },
    applicationData: { ...visaFormat2, template: `1F2201A000000000${'00'.repeat(24)}` },
  },
  'mastercard-16': {
    issuerData: mChipResults,
    padding: 2,
    cardKey: 'A',
    sessionKey: 'mChip',
    answer: { method: 1, key: 'card', told: mChipCode },
    messaging: mChipMessaging,
    applicationData: { ...mChip, template: `0110A00000000000${'00'.repeat(10)}` },
  },
  'mastercard-20': {
    issuerData: mChipResults,
    padding: 2,
    cardKey: 'A',
    sessionKey: 'common',
    answer: { method: 1, key: 'session', told: mChipCode },
    messaging: mChipMessaging,
    applicationData: { ...mChip, template: `0114A00000000000${'00'.repeat(10)}` },
  },
  'mastercard-17': {
    issuerData: mChipCounters,
    padding: 2,
    cardKey: 'A',
    sessionKey: 'mChip',
    answer: { method: 1, key: 'card', told: mChipCode },
    messaging: mChipMessaging,
    applicationData: { ...mChipWithCounters, template: `0111A00000000000${'00'.repeat(10)}` },
  },
  'mastercard-21': {
    issuerData: mChipCounters,
    padding: 2,
    cardKey: 'A',
    sessionKey: 'common',
    answer: { method: 1, key: 'session', told: mChipCode },
    messaging: mChipMessaging,
    applicationData: { ...mChipWithCounters, template: `0115A00000000000${'00'.repeat(10)}` },
  },
  cpa: {
    issuerData: wholeData,
    padding: 2,
    cardKey: 'B',
    sessionKey: 'common',
    answer: { method: 2, key: 'session', told: statusUpdate },
    messaging: { sessionKey: 'common', pinForm: 'format2', encipherment: 'emv' },
    applicationData: {
      ...commonCore,
      template: `0FA501A000000000${'00'.repeat(8)}0F${'00'.repeat(15)}`,
    },
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
export function composeCryptogramData({ issuerData }: ChipProfile, tags: ChipTags): Buffer | null {
  const values = commonTags.map(([tag, bytes]) => {
    const value = tags.get(tag)
    return value?.length === bytes ? value : null
  })
  const applicationData = tags.get('9F10')
  if (!applicationData) return null
  const parts = issuerData.map(({ from, length }) => {
    const end = length === null ? applicationData.length : from + length
    return from <= end && end <= applicationData.length ? applicationData.subarray(from, end) : null
  })
  const known = [...values, ...parts].filter((value) => value !== null)
  return known.length < values.length + parts.length ? null : Buffer.concat(known)
}
