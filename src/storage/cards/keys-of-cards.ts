import type { PublicToken } from '../../domain/identifiers.ts'
import type { Connection } from '../engine/database.ts'
import { loadStatements } from '../engine/statements.ts'

/** The members of a card that are encrypted under the installation's keys. */
export interface CardUnderKeys {
  readonly publicToken: PublicToken
  readonly encryptedPan: Uint8Array
  readonly personalData: Uint8Array
  readonly pinBlock: Uint8Array | null
  /** `pin-storage/1` with a PIN block, `pvk/1` with a PVV. */
  readonly pinKey: string
  readonly cvk: string
}

const declare = loadStatements(import.meta.url)

const selectCards = declare<{ afterToken: string; limit: number }, CardUnderKeys>(
  'list_cards_under_keys',
)

/** Lists some cards of all clients, by token. */
export const listCardsUnderKeys = (
  connection: Connection,
  afterToken: string,
  limit: number,
): Promise<CardUnderKeys[]> => selectCards(connection, { afterToken, limit })

interface ChipPosition {
  readonly publicToken: string
  readonly panSequenceNumber: string
}

/** A chip, and the version of the keys of its last valid cryptogram. */
interface ChipUnderKeys extends ChipPosition {
  readonly keyVersion: number
  /** Of its card, as YYYY-MM-DD; null if it has expired. */
  readonly expiryDate: string | null
}

const selectChips = declare<ChipPosition & { limit: number }, ChipUnderKeys>(
  'list_chips_under_keys',
)

/** Lists some chips of all clients, by token and sequence number. */
export const listChipsUnderKeys = (
  connection: Connection,
  after: ChipPosition,
  limit: number,
): Promise<ChipUnderKeys[]> => selectChips(connection, { ...after, limit })

interface ChipKeySearch {
  readonly keyVersion: number
  /** Cards that were created later have another version; null: no card was made with it. */
  readonly createdBefore: Date | null
  readonly afterToken: string
  readonly limit: number
}

/** A card, and whether its chip needs a version of the keys. */
interface ChipKeyNeed {
  readonly publicToken: string
  /** Whether a chip of the card used the version last. */
  readonly isUsed: boolean
  /** As YYYY-MM-DD; null if the card does not need the version. */
  readonly expiryDate: string | null
}

const selectNeeds = declare<ChipKeySearch, ChipKeyNeed>('list_needs_of_chip_keys')

/** Lists some cards of all clients, by token, and which of them need a version of the chip keys. */
export const listNeedsOfChipKeys = (
  connection: Connection,
  search: ChipKeySearch,
): Promise<ChipKeyNeed[]> => selectNeeds(connection, search)

interface SealedMove {
  readonly publicToken: PublicToken
  readonly before: Uint8Array
  readonly after: Uint8Array
}

const updatePan = declare<SealedMove>('move_pan')

/**
 * Stores a PAN under another key, if it is unchanged.
 * @returns whether it was stored.
 */
export const movePan = async (
  connection: Connection,
  publicToken: PublicToken,
  before: Uint8Array,
  after: Uint8Array,
): Promise<boolean> => (await updatePan(connection, { publicToken, before, after })).length === 1

const updatePersonalData = declare<SealedMove>('move_personal_data')

/**
 * Stores personal data under another key, if they are unchanged.
 * @returns whether they were stored.
 */
export const movePersonalData = async (
  connection: Connection,
  publicToken: PublicToken,
  before: Uint8Array,
  after: Uint8Array,
): Promise<boolean> =>
  (await updatePersonalData(connection, { publicToken, before, after })).length === 1

/** A PIN that can be revealed. */
interface PinUnderKey {
  readonly pinBlock: Uint8Array
  readonly pinKey: string
}

interface PinMove extends PinUnderKey {
  readonly publicToken: PublicToken
  readonly newPinBlock: Uint8Array
  readonly newPinKey: string
}

const updatePin = declare<PinMove>('move_pin')

/**
 * Stores a PIN under another key, unless another PIN was set meanwhile.
 * @returns whether it was stored.
 */
export const movePin = async (
  connection: Connection,
  publicToken: PublicToken,
  before: PinUnderKey,
  after: PinUnderKey,
): Promise<boolean> => {
  const moved = await updatePin(connection, {
    ...before,
    publicToken,
    newPinBlock: after.pinBlock,
    newPinKey: after.pinKey,
  })
  return moved.length === 1
}

const deleteFingerprints = declare<{ keyVersion: number; settleSeconds: number; limit: number }>(
  'forget_pan_fingerprints',
)

/**
 * Deletes some of the fingerprints under a version that has been retired for a number of seconds.
 * @returns their number.
 */
export const deleteRetiredFingerprints = async (
  connection: Connection,
  keyVersion: number,
  settleSeconds: number,
  limit: number,
): Promise<number> =>
  (await deleteFingerprints(connection, { keyVersion, settleSeconds, limit })).length

const selectFingerprint = declare<{ keyVersion: number }>('count_pan_fingerprints')

/** Whether any card has a fingerprint under a version of the key. */
export const hasPanFingerprints = async (
  connection: Connection,
  keyVersion: number,
): Promise<boolean> => (await selectFingerprint(connection, { keyVersion })).length > 0

/** The fingerprint of a PAN under one version of the key. */
export interface PanFingerprintColumns {
  readonly fingerprint: Uint8Array
  readonly keyVersion: number
}

const insertFingerprint = declare<PanFingerprintColumns & { publicToken: PublicToken }>(
  'add_pan_fingerprint',
)

/**
 * Adds a fingerprint under another version of the key to a card.
 * @returns whether it was new.
 */
export const addPanFingerprint = async (
  connection: Connection,
  fingerprint: PanFingerprintColumns,
  publicToken: PublicToken,
): Promise<boolean> =>
  (await insertFingerprint(connection, { ...fingerprint, publicToken })).length > 0

interface CommandPosition {
  readonly publicToken: string
  readonly number: number
}

/** A command that waits for its chip, with the PIN that it brings. */
interface CommandUnderKey {
  readonly publicToken: PublicToken
  readonly number: number
  readonly encryptedPan: Uint8Array
  readonly pinBlock: Uint8Array
  readonly pinKey: string
}

const selectCommands = declare<CommandPosition & { limit: number }, CommandUnderKey>(
  'list_pins_of_chip_commands',
)

/** Lists some waiting commands with a PIN, by card and number. */
export const listPinsOfCommands = (
  connection: Connection,
  after: CommandPosition,
  limit: number,
): Promise<CommandUnderKey[]> => selectCommands(connection, { ...after, limit })

const updateCommandPin = declare<
  Omit<CommandUnderKey, 'encryptedPan'> & {
    readonly newPinBlock: Uint8Array
    readonly newPinKey: string
  }
>('move_pin_of_chip_command')

/**
 * Stores the PIN of a command under another key.
 * @returns whether the command still waited with the same one.
 */
export const movePinOfCommand = async (
  connection: Connection,
  { encryptedPan: _, ...command }: CommandUnderKey,
  after: { readonly pinBlock: Uint8Array; readonly pinKey: string },
): Promise<boolean> => {
  const moved = { ...command, newPinBlock: after.pinBlock, newPinKey: after.pinKey }
  return (await updateCommandPin(connection, moved)).length === 1
}
