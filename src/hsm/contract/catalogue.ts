import type { Cryptoperiod, Publication, Retirement } from './key-lifecycle.ts'
import { KeyRefusal } from './stored-keys.ts'

/**
 * The keys of an installation. Each has one purpose, and this file states everything about it once:
 * a new name does not compile until its entry is complete.
 */
export const keyNames = [
  'pan',
  'pan-fingerprint',
  'pin-storage',
  'personal-data',
  'request-fingerprint',
  'cvk',
  'pvk',
  'cavv',
  'chip-ac',
  'chip-smc',
  'chip-smi',
  'chip-dynamic',
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
 * Letters of algorithms in key blocks (X9.143, table 6): AES, TDES, HMAC, EC, RSA. The standard has
 * no letter for ML-DSA; the digit is specific to this service.
 */
type AlgorithmCode = 'A' | 'T' | 'H' | 'E' | 'R' | '1'

export type BlockCipher = 'TDES' | 'AES'

/** The letter of each block cipher. */
export const codesByCipher = { TDES: 'T', AES: 'A' } as const satisfies Record<
  BlockCipher,
  AlgorithmCode
>

/** The MAC keys of networks by usage (X9.143, table 5), with the method of each. */
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

/**
 * Returns the block cipher of a letter.
 * @throws KeyRefusal if the letter has no cipher.
 */
export function parseCipher(algorithm: string): BlockCipher {
  if (algorithm === codesByCipher.AES) return 'AES'
  if (algorithm === codesByCipher.TDES) return 'TDES'
  throw new KeyRefusal('Only AES and TDES keys are supported.')
}

/** The action of a key, in this process or in a token. */
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

/** The purpose of a key as its key block states it (X9.143, tables 5 to 8), and its action here. */
export interface KeyKind {
  /** The only purpose of the key. For keys with one use, the name distinguishes them. */
  readonly purpose: string
  readonly keyUsage: string
  readonly algorithm: AlgorithmCode
  readonly modeOfUse: string
  readonly action: KeyAction
  /** The number of random bytes; null for a key pair. */
  readonly lengthBytes: 16 | 24 | 32 | null
}

interface CatalogueEntry<Name extends string> {
  /** The purpose, in words. */
  readonly description: string
  readonly kind: KeyKind & { readonly purpose: Name }
  readonly retirement: Retirement
  /**
   * The columns that are encrypted under the key or name it, in the order of their re-encryption.
   */
  readonly columns: readonly string[]
  /** Whether the key can ever be exported. Keys that decrypt stored data or sign never can. */
  readonly mayLeave: boolean
  readonly publication: Publication | null
  /** The default cryptoperiod. An operator's policy overrides it. */
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
/** The master key of an issuer, from which the keys of its chips are derived. */
const chipMaster = {
  algorithm: 'T',
  modeOfUse: 'X',
  lengthBytes: 16,
  action: 'blocks',
} as const
const ec = { algorithm: 'E', lengthBytes: null } as const
const rsa = { algorithm: 'R', lengthBytes: null } as const

const daySeconds = 24 * 3_600
/**
 * Tokens live one hour (docs/reference/api.md, "Authentication"); clocks may differ by a minute.
 */
const tokenSeconds = 3_600 + 60

const year = 365
/** The maximum uses of a key of a cipher with 128-bit blocks (SP 800-38B, appendix B.2). */
const ofAes = 2 ** 48
/** SP 800-57 part 1, table 1, row 9: a key for derivations lasts about one year. */
const deriving = { originatorDays: year, recipientDays: 4 * year, usesAtMost: ofAes } as const
/**
 * The keys of chips stay in cards for years. Cards cannot get other keys, so SP 800-57 part 1,
 * 5.3.3.2 (cost of replacement), outweighs row 9: cards are made under a version for four years,
 * the usual validity of a card, and the last of them is used for as long. No limit of uses: the
 * derived keys are never seen, and each chip gets the same ones every time.
 */
const derivingForChips = {
  originatorDays: 4 * year,
  recipientDays: 8 * year,
  usesAtMost: null,
} as const
/** Row 3: an authentication key lasts at most two years, and three more years to verify. */
const authenticating = {
  originatorDays: 2 * year,
  recipientDays: 5 * year,
  usesAtMost: null,
} as const
/** Row 1: a signing key lasts one to three years. Verifiers use its public half for longer. */
const signing = { originatorDays: 2 * year, recipientDays: 3 * year, usesAtMost: null } as const
/** Rows 10 and 13: a key that decrypts data sealed to it lasts at most two years. */
const receiving = { originatorDays: 2 * year, recipientDays: 2 * year, usesAtMost: null } as const

const staysHere = { mayLeave: false, publication: null } as const
/** Other processors of the cards may need the key. */
const mayBeShared = { mayLeave: true, publication: null } as const
const reEncrypted = { retirement: { by: 're-encryption' } } as const
const untilOperator = { retirement: { by: 'operator' } } as const

/**
 * Cards in the field keep the keys that they were made with, so a version is used until the last
 * of them expires.
 */
const ofChips = {
  ...untilOperator,
  columns: ['chip.key_version'],
  ...mayBeShared,
  cryptoperiod: derivingForChips,
} as const

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
    columns: ['card.pin_block', 'chip_command.pin_block', 'virtual_chip.pin_block'],
    ...staysHere,
    // Row 6, data encryption: at most two years. PINs get half of that.
    cryptoperiod: { originatorDays: year, recipientDays: 4 * year, usesAtMost: ofAes },
  },
  'personal-data': {
    description:
      'Enciphers personal data, texts for the bureau, notes, answers, webhook secrets, keys that ' +
      'sign decisions, and requests that wait for an approval.',
    kind: { purpose: 'personal-data', keyUsage: 'D0', action: 'seal', ...aes256 },
    ...reEncrypted,
    columns: [
      'card.personal_data',
      'plastic.free_texts',
      'event.note',
      'idempotency_record.answer',
      'sandbox_secret.sealed',
      'webhook.secret',
      'webhook.description',
      // After the present secrets, each of which may become a former one.
      'webhook_former_secret.secret',
      'decision_signing_key.sealed_keys',
      'approval.payload',
      'approval.reason',
      'approval.outcome',
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
    // Its fingerprints are useless after a day.
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
    columns: ['card.pvv', 'virtual_chip.pvv'],
    ...mayBeShared,
    cryptoperiod: authenticating,
  },
  cavv: {
    description: 'Verifies the values of 3-D Secure authentications (CAVV).',
    kind: { purpose: 'cavv', keyUsage: 'C0', action: 'cvv', ...doubleLengthTdes },
    ...untilOperator,
    columns: [],
    ...mayBeShared,
    cryptoperiod: authenticating,
  },
  'chip-ac': {
    description: 'Derives the keys with which chips make cryptograms.',
    kind: { purpose: 'chip-ac', keyUsage: 'E0', ...chipMaster },
    ...ofChips,
  },
  'chip-smc': {
    description: 'Derives the keys that encipher commands to chips.',
    kind: { purpose: 'chip-smc', keyUsage: 'E1', ...chipMaster },
    ...ofChips,
  },
  'chip-smi': {
    description: 'Derives the keys that authenticate commands to chips.',
    kind: { purpose: 'chip-smi', keyUsage: 'E2', ...chipMaster },
    ...ofChips,
  },
  'chip-dynamic': {
    description:
      'Derives the keys of dynamic values of contactless magnetic stripes, such as CVC3.',
    kind: { purpose: 'chip-dynamic', keyUsage: 'E4', ...chipMaster },
    ...ofChips,
  },
  'token-signing': {
    description: 'Signs access tokens.',
    kind: { purpose: 'token-signing', keyUsage: 'S0', modeOfUse: 'S', action: 'sign', ...ec },
    retirement: { by: 'time', seconds: tokenSeconds },
    columns: [],
    mayLeave: false,
    publication: { to: 'token verifiers', use: 'sig', algorithm: 'ES256' },
    // An access token lives one hour.
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

/** A column that is encrypted under one of these keys, or names it. */
export type KeyedColumn = Catalogue[KeyName]['columns'][number]

/** The keys of a chip. A chip uses the same version of each. */
export const chipKeyNames = ['chip-ac', 'chip-smc', 'chip-smi', 'chip-dynamic'] as const

/** The names of keys that are published to devices. */
export type DeviceKeyName = {
  [Name in KeyName]: Catalogue[Name]['publication'] extends { readonly to: 'devices' }
    ? Name
    : never
}[KeyName]

export const isInstallationKey = (name: string): name is KeyName =>
  Object.hasOwn(keyCatalogue, name)

/** Whether generating the key takes seconds. The start does not wait for such keys. */
export const isSlow = (name: KeyName): boolean => keyCatalogue[name].kind.algorithm === 'R'

/**
 * Whether the key is generated when the HSM is opened: all keys except slow ones and those that a
 * setting enables.
 */
export const isMadeAtStart = (name: KeyName): boolean => !isSlow(name) && name !== 'audit-ml-dsa'

/** Composes the `kid` of a version of a published key. */
export const publishedKeyId = (name: KeyName, version: number): string => `${name}-${version}`
