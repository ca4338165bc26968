import type { KeyAction, WorkingKeys } from '../keys/key-engine.ts'

/** What a key is for, as its key block says it (X9.143, tables 5 to 8), and what it does here. */
export interface KeyKind {
  /** What it is for and nothing else: of keys with one use, a name tells which is which. */
  readonly purpose: string
  readonly keyUsage: string
  readonly algorithm: 'A' | 'T' | 'H' | 'E' | 'R'
  readonly modeOfUse: string
  readonly action: KeyAction
  /** Bytes to draw; nothing for a key pair. */
  readonly lengthBytes: 16 | 24 | 32 | null
}

const aes256 = { algorithm: 'A', modeOfUse: 'B', lengthBytes: 32 } as const
const hmac = {
  keyUsage: 'M7',
  algorithm: 'H',
  modeOfUse: 'G',
  lengthBytes: 32,
  action: 'mac',
} as const
const doubleLengthTdes = { algorithm: 'T', modeOfUse: 'C', lengthBytes: 16 } as const

/** The keys of an installation: each is used for one thing and no other. */
export const keyKinds = {
  /** Enciphers PANs. */
  pan: { purpose: 'pan', keyUsage: 'D0', action: 'seal', ...aes256 },
  /** Finds a card by its PAN. */
  'pan-fingerprint': { purpose: 'pan-fingerprint', ...hmac },
  /** Enciphers PIN blocks at rest; no PIN ever travels under it. */
  'pin-storage': { purpose: 'pin-storage', keyUsage: 'P0', action: 'blocks', ...aes256 },
  /** Enciphers personal data, notes and remembered answers. */
  'personal-data': { purpose: 'personal-data', keyUsage: 'D0', action: 'seal', ...aes256 },
  /** Tells repeated requests from others. */
  'request-fingerprint': { purpose: 'request-fingerprint', ...hmac },
  /** Makes CVV, CVV2 and iCVV. */
  cvk: { purpose: 'cvk', keyUsage: 'C0', action: 'cvv', ...doubleLengthTdes },
  /** Makes PVVs. */
  pvk: { purpose: 'pvk', keyUsage: 'V2', action: 'blocks', ...doubleLengthTdes },
  /** Signs access tokens. */
  'token-signing': {
    purpose: 'token-signing',
    keyUsage: 'S0',
    algorithm: 'E',
    modeOfUse: 'S',
    lengthBytes: null,
    action: 'sign',
  },
  /** Opens the session keys that devices make. */
  'card-data-wrap': {
    purpose: 'card-data-wrap',
    keyUsage: 'K3',
    algorithm: 'R',
    modeOfUse: 'D',
    action: 'unwrap',
    lengthBytes: null,
  },
  /** Signs card data under a session key. */
  'card-data-sign': {
    purpose: 'card-data-sign',
    keyUsage: 'S0',
    algorithm: 'R',
    modeOfUse: 'S',
    action: 'signPss',
    lengthBytes: null,
  },
  /** Signs card data to a device's key. */
  'card-data-sign-ec': {
    purpose: 'card-data-sign-ec',
    keyUsage: 'S0',
    algorithm: 'E',
    modeOfUse: 'S',
    action: 'sign',
    lengthBytes: null,
  },
  /** Opens the PINs that devices seal. */
  'card-data-pin': {
    purpose: 'card-data-pin',
    keyUsage: 'K3',
    algorithm: 'E',
    modeOfUse: 'X',
    action: 'agree',
    lengthBytes: null,
  },
} as const satisfies Record<string, KeyKind>

export type KeyName = keyof typeof keyKinds

/** What the key of a name does. */
export type WorkingKey<Name extends KeyName> = WorkingKeys[(typeof keyKinds)[Name]['action']]

export const keyNames = Object.keys(keyKinds).filter(isKeyName)

/** Whether a key takes seconds to make: nobody waits for it at the start. */
export const isSlow = (name: KeyName): boolean => keyKinds[name].algorithm === 'R'

export function isKeyName(text: string): text is KeyName {
  return Object.hasOwn(keyKinds, text)
}

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
