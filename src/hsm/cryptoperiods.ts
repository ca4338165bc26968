import type { KeyName } from './key-table.ts'

/** For how long, and how often, one version of a key may be used (NIST SP 800-57 part 1 rev. 5, 5.3.6). */
export interface Cryptoperiod {
  /** Days in which new things are made under it: the originator-usage period. Then a rotation is due. */
  readonly originatorDays: number
  /** Days in which what it made is still opened, found or verified: the recipient-usage period. */
  readonly recipientDays: number
  /** Uses after which a rotation is due; null where none that can be reached is too many. */
  readonly usesAtMost: number | null
}

const year = 365
/** How often a key of a cipher of 128-bit blocks may make something (SP 800-38B, appendix B.2). */
const ofAes = 2 ** 48

/** SP 800-57 part 1, table 1, row 9: a key that others are derived from lasts about a year. */
const deriving = { originatorDays: year, recipientDays: 4 * year, usesAtMost: ofAes } as const
/** Row 3: a key that authenticates lasts two years at most, and three more to verify. */
const authenticating = {
  originatorDays: 2 * year,
  recipientDays: 5 * year,
  usesAtMost: null,
} as const
/** Row 1: a key that signs lasts one to three years; who verifies has its public half longer. */
const signing = { originatorDays: 2 * year, recipientDays: 3 * year, usesAtMost: null } as const
/** Rows 10 and 13: a key that opens what others seal to it lasts two years at most. */
const receiving = { originatorDays: 2 * year, recipientDays: 2 * year, usesAtMost: null } as const

/** Every key of an installation. What an operator's own policy says goes before it. */
export const cryptoperiods: Readonly<Record<KeyName, Cryptoperiod>> = {
  pan: deriving,
  'personal-data': deriving,
  /** Row 6, enciphering data: two years at most. PINs deserve half. */
  'pin-storage': { originatorDays: year, recipientDays: 4 * year, usesAtMost: ofAes },
  'pan-fingerprint': authenticating,
  /** What it made is of no use after a day. */
  'request-fingerprint': { ...authenticating, originatorDays: year, recipientDays: year + 1 },
  /** Cards keep the version that they were issued under until they expire. */
  cvk: authenticating,
  pvk: authenticating,
  /** An access token lives an hour. */
  'token-signing': { ...signing, originatorDays: 90, recipientDays: 91 },
  'card-data-wrap': receiving,
  'card-data-sign': signing,
  'card-data-sign-ec': signing,
  'card-data-pin': receiving,
}
