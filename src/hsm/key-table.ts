import type { KeyAction, WorkingKeys } from './working-key.ts'

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
