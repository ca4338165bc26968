import type { Cryptoperiod, Publication, Retirement } from './key-lifecycle.ts'
import { KeyRefusal } from './stored-keys.ts'

/**
 * The keys of an installation. Each is used for one thing and no other, and all that is to be known
 * of one is said below, once: a name that is added here does not compile before.
 */
export const keyNames = [
  'pan',
  'pan-fingerprint',
  'pin-storage',
  'personal-data',
  'request-fingerprint',
  'cvk',
  'pvk',
  'token-signing',
  'card-data-wrap',
  'card-data-sign',
  'card-data-sign-ec',
  'card-data-pin',
  'audit',
  'audit-ml-dsa',
] as const

export type KeyName = (typeof keyNames)[number]

/**
 * Letters of algorithms in key blocks (X9.143, table 6): AES, TDES, HMAC, EC, RSA. ML-DSA has none
 * yet but a digit of ours.
 */
type AlgorithmCode = 'A' | 'T' | 'H' | 'E' | 'R' | '1'

export type BlockCipher = 'TDES' | 'AES'

/** The letter of each block cipher. */
export const codesByCipher = { TDES: 'T', AES: 'A' } as const satisfies Record<
  BlockCipher,
  AlgorithmCode
>

/**
 * Keys of networks that authenticate messages, by usage (X9.143, table 5), and how each makes a
 * MAC.
 */
export const macUsages = {
  /** ISO 16609. */
  M0: { cipher: 'TDES', method: 'cbc' },
  /** ISO/IEC 9797-1 algorithm 1. */
  M1: { cipher: 'TDES', method: 'cbc' },
  /** ISO/IEC 9797-1 algorithm 3, the retail MAC. */
  M3: { cipher: 'TDES', method: 'retail' },
  /** ISO/IEC 9797-1 algorithm 5, CMAC. */
  M6: { cipher: 'AES', method: 'cmac' },
} as const satisfies Record<string, { readonly cipher: BlockCipher; readonly method: string }>
export type MacUsage = keyof typeof macUsages

export const isMacUsage = (usage: string): usage is MacUsage => Object.hasOwn(macUsages, usage)

/** The block cipher of a letter. @throws KeyRefusal when it is the letter of none. */
export function parseCipher(algorithm: string): BlockCipher {
  if (algorithm === codesByCipher.AES) return 'AES'
  if (algorithm === codesByCipher.TDES) return 'TDES'
  throw new KeyRefusal('Only AES and TDES keys are supported.')
}

/** What a key does, whether its bytes lie in this process or in a token. */
export type KeyAction =
  | 'blocks'
  | 'chain'
  | 'cvv'
  | 'seal'
  | 'mac'
  | 'sign'
  | 'signPss'
  | 'signEd25519'
  | 'signMlDsa44'
  | 'unwrap'
  | 'agree'

/** What a key is for, as its key block says it (X9.143, tables 5 to 8), and what it does here. */
export interface KeyKind {
  /** What it is for and nothing else: of keys with one use, a name says which is which. */
  readonly purpose: string
  readonly keyUsage: string
  readonly algorithm: AlgorithmCode
  readonly modeOfUse: string
  readonly action: KeyAction
  /** Bytes to draw; nothing for a key pair. */
  readonly lengthBytes: 16 | 24 | 32 | null
}

interface CatalogueEntry<Name extends string> {
  /** What it is for, in words. */
  readonly description: string
  readonly kind: KeyKind & { readonly purpose: Name }
  readonly retirement: Retirement
  /** The columns that are under it or name it, in the order in which they are re-encrypted. */
  readonly columns: readonly string[]
  /** Whether it may ever leave: what opens data at rest, or signs, never does. */
  readonly mayLeave: boolean
  readonly publication: Publication | null
  /** What an operator's own policy says goes before it. */
  readonly cryptoperiod: Cryptoperiod
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
const ec = { algorithm: 'E', lengthBytes: null } as const
const rsa = { algorithm: 'R', lengthBytes: null } as const

const daySeconds = 24 * 3_600
/** Tokens live an hour (docs/reference/api.md, "Authentication"); clocks differ by a minute. */
const tokenSeconds = 3_600 + 60

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

const staysHere = { mayLeave: false, publication: null } as const
/** Other processors of the cards may need it. */
const mayBeShared = { mayLeave: true, publication: null } as const
const reEncrypted = { retirement: { by: 're-encryption' } } as const
const untilOperator = { retirement: { by: 'operator' } } as const

export const keyCatalogue = {
  pan: {
    description: 'Enciphers PANs.',
    kind: { purpose: 'pan', keyUsage: 'D0', action: 'seal', ...aes256 },
    ...reEncrypted,
    columns: ['card.encrypted_pan'],
    ...staysHere,
    cryptoperiod: deriving,
  },
  'pan-fingerprint': {
    description: 'Computes the fingerprints that find a card by its PAN.',
    kind: { purpose: 'pan-fingerprint', ...hmac },
    ...reEncrypted,
    columns: ['pan_fingerprint'],
    ...staysHere,
    cryptoperiod: authenticating,
  },
  'pin-storage': {
    description: 'Enciphers PIN blocks at rest; no PIN is ever transported under it.',
    kind: { purpose: 'pin-storage', keyUsage: 'P0', action: 'blocks', ...aes256 },
    ...reEncrypted,
    columns: ['card.pin_block'],
    ...staysHere,
    // Row 6, enciphering data: two years at most. PINs deserve half.
    cryptoperiod: { originatorDays: year, recipientDays: 4 * year, usesAtMost: ofAes },
  },
  'personal-data': {
    description:
      'Enciphers personal data, notes, answers, webhook secrets and payloads of approvals.',
    kind: { purpose: 'personal-data', keyUsage: 'D0', action: 'seal', ...aes256 },
    ...reEncrypted,
    columns: [
      'card.personal_data',
      'event.note',
      'idempotency_record.answer',
      'sandbox_secret.sealed',
      'webhook.secret',
      'webhook.description',
      // After the present ones, each of which may become a former one.
      'webhook_former_secret.secret',
      ...(['approval.payload', 'approval.outcome'] as const),
    ],
    ...staysHere,
    cryptoperiod: deriving,
  },
  'request-fingerprint': {
    description: 'Computes the fingerprints that identify repeated requests.',
    kind: { purpose: 'request-fingerprint', ...hmac },
    retirement: { by: 'time', seconds: daySeconds },
    columns: [],
    ...staysHere,
    // What it made is of no use after a day.
    cryptoperiod: { ...authenticating, originatorDays: year, recipientDays: year + 1 },
  },
  cvk: {
    description: 'Makes CVV, CVV2 and iCVV.',
    kind: { purpose: 'cvk', keyUsage: 'C0', action: 'cvv', ...doubleLengthTdes },
    ...untilOperator,
    columns: ['card.cvk'],
    ...mayBeShared,
    cryptoperiod: authenticating,
  },
  pvk: {
    description: 'Makes PVVs.',
    kind: { purpose: 'pvk', keyUsage: 'V2', action: 'blocks', ...doubleLengthTdes },
    ...untilOperator,
    columns: ['card.pvv'],
    ...mayBeShared,
    cryptoperiod: authenticating,
  },
  'token-signing': {
    description: 'Signs access tokens.',
    kind: { purpose: 'token-signing', keyUsage: 'S0', modeOfUse: 'S', action: 'sign', ...ec },
    retirement: { by: 'time', seconds: tokenSeconds },
    columns: [],
    mayLeave: false,
    publication: { to: 'token verifiers', use: 'sig', algorithm: 'ES256' },
    // An access token lives an hour.
    cryptoperiod: { ...signing, originatorDays: 90, recipientDays: 91 },
  },
  'card-data-wrap': {
    description: 'Opens the session keys that devices make.',
    kind: { purpose: 'card-data-wrap', keyUsage: 'K3', modeOfUse: 'D', action: 'unwrap', ...rsa },
    ...untilOperator,
    columns: [],
    mayLeave: false,
    publication: { to: 'devices', use: 'enc', algorithm: 'RSA-OAEP-256' },
    cryptoperiod: receiving,
  },
  'card-data-sign': {
    description: 'Signs card data under a session key.',
    kind: { purpose: 'card-data-sign', keyUsage: 'S0', modeOfUse: 'S', action: 'signPss', ...rsa },
    ...untilOperator,
    columns: [],
    mayLeave: false,
    publication: { to: 'devices', use: 'sig', algorithm: 'PS256' },
    cryptoperiod: signing,
  },
  'card-data-sign-ec': {
    description: 'Signs card data to a device’s key.',
    kind: { purpose: 'card-data-sign-ec', keyUsage: 'S0', modeOfUse: 'S', action: 'sign', ...ec },
    ...untilOperator,
    columns: [],
    mayLeave: false,
    publication: { to: 'devices', use: 'sig', algorithm: 'ES256' },
    cryptoperiod: signing,
  },
  'card-data-pin': {
    description: 'Opens the PINs that devices seal.',
    kind: { purpose: 'card-data-pin', keyUsage: 'K3', modeOfUse: 'X', action: 'agree', ...ec },
    ...untilOperator,
    columns: [],
    mayLeave: false,
    publication: { to: 'devices', use: 'enc', algorithm: 'ECDH-ES' },
    cryptoperiod: receiving,
  },
  audit: {
    description: 'Signs checkpoints of the audit log.',
    kind: { purpose: 'audit', keyUsage: 'S0', modeOfUse: 'S', action: 'signEd25519', ...ec },
    ...untilOperator,
    columns: [],
    ...staysHere,
    cryptoperiod: signing,
  },
  'audit-ml-dsa': {
    description: 'Signs checkpoints of the audit log if AUDIT_LOG_ML_DSA is yes.',
    kind: {
      purpose: 'audit-ml-dsa',
      keyUsage: 'S0',
      algorithm: '1',
      modeOfUse: 'S',
      action: 'signMlDsa44',
      lengthBytes: null,
    },
    ...untilOperator,
    columns: [],
    ...staysHere,
    cryptoperiod: signing,
  },
} as const satisfies { readonly [Name in KeyName]: CatalogueEntry<Name> }

type Catalogue = typeof keyCatalogue

/** A column that is under one of these keys, or names it. */
export type KeyedColumn = Catalogue[KeyName]['columns'][number]

/** The names of keys that are published to devices. */
export type DeviceKeyName = {
  [Name in KeyName]: Catalogue[Name]['publication'] extends { readonly to: 'devices' }
    ? Name
    : never
}[KeyName]

export const isInstallationKey = (name: string): name is KeyName =>
  Object.hasOwn(keyCatalogue, name)

/** Whether generating a key takes seconds. The start does not wait for such keys. */
export const isSlow = (name: KeyName): boolean => keyCatalogue[name].kind.algorithm === 'R'

/**
 * Whether a key is made when the HSM is opened: not one that is slow, or that only a setting asks
 * for.
 */
export const isMadeAtStart = (name: KeyName): boolean => !isSlow(name) && name !== 'audit-ml-dsa'

/** Composes the `kid` of a version of a published key. */
export const publishedKeyId = (name: KeyName, version: number): string => `${name}-${version}`
