import { randomUUID } from 'node:crypto'
import type { PublicToken } from '../../domain/identifiers.ts'
import type { ProductChip } from '../../domain/product-chip.ts'
import { type Connection, firstRow } from '../engine/database.ts'
import { loadStatements } from '../engine/statements.ts'

/** The facts of a card and its product that a virtual chip needs. */
export interface CardOfChip {
  readonly publicToken: PublicToken
  readonly clientId: string
  readonly encryptedPan: Uint8Array
  readonly pinLength: number
  readonly pinTryLimit: number
  /** Of its product. */
  readonly currencyCode: string
  /** Of the current plastic. */
  readonly plasticNumber: number
  /** Null if the card has no chip. */
  readonly chip: ProductChip | null
}

type CardRow = Omit<CardOfChip, 'chip'> & {
  readonly cardType: string
  /** JSON. */
  readonly chip: string | null
}

const declare = loadStatements(import.meta.url)

const selectCard = declare<{ publicToken: PublicToken }, CardRow>('find_card_of_chip')

/** Finds a card of any client. Only physical cards have chips. */
export async function findCardOfChip(
  connection: Connection,
  publicToken: PublicToken,
): Promise<CardOfChip | null> {
  const row = firstRow(await selectCard(connection, { publicToken }))
  if (!row) return null
  const { cardType, chip, ...card } = row
  const hasChip = cardType === 'Physical' && chip !== null
  return { ...card, chip: hasChip ? (JSON.parse(chip) as ProductChip) : null }
}

const selectKeys = declare<object, { keyVersion: number }>('find_newest_chip_keys')

/** Finds the newest version of which all keys of chips exist; null without any. */
export const findNewestChipKeys = async (connection: Connection): Promise<number | null> =>
  firstRow(await selectKeys(connection, {}))?.keyVersion ?? null

/** The state of a virtual chip. */
export interface VirtualChipState {
  readonly stateId: string
  readonly panSequenceNumber: string
  /** Of the keys that the chip was made with. */
  readonly keyVersion: number
  readonly derivationKeyIndex: number
  /** The counter of its last transaction. */
  readonly atc: number
  readonly offlineTryLimit: number
  readonly remainingOfflineTries: number
  readonly pinBlock: Uint8Array | null
  readonly pvv: string | null
  readonly pinKey: string
  readonly isApplicationBlocked: boolean
  readonly isCardBlocked: boolean
  /** The last cryptogram with what it was made of; null once it is answered. */
  readonly cryptogramData: Uint8Array | null
  readonly unpredictableNumber: Uint8Array | null
  readonly cryptogram: Uint8Array | null
  /** No right answer came to the last cryptogram. */
  readonly isOnlineIncomplete: boolean
  /** The results of the last answer's commands, in the form of tag 9F5B. */
  readonly commandResults: Uint8Array
  /** How many executed ones of them the chip counts in its verification results. */
  readonly countedCommands: number
  /** In hexadecimal digits, by tag. */
  readonly dataObjects: Readonly<Record<string, string>>
}

type StateRow = Omit<VirtualChipState, 'dataObjects'> & { readonly dataObjects: string }

const selectChip = declare<{ publicToken: PublicToken }, StateRow>('find_virtual_chip')

export async function findVirtualChip(
  connection: Connection,
  publicToken: PublicToken,
): Promise<VirtualChipState | null> {
  const row = firstRow(await selectChip(connection, { publicToken }))
  return row && { ...row, dataObjects: JSON.parse(row.dataObjects) as Record<string, string> }
}

/** A new virtual chip. */
interface NewChip {
  readonly publicToken: PublicToken
  readonly panSequenceNumber: string
  readonly keyVersion: number
  readonly derivationKeyIndex: number
  readonly offlineTryLimit: number
}

const insertChip = declare<NewChip & { readonly stateId: string }>('make_virtual_chip')

/** Makes the chip of a card with the PIN that the card has now. It replaces the one before. */
export const makeVirtualChip = async (connection: Connection, chip: NewChip): Promise<void> => {
  await insertChip(connection, { ...chip, stateId: randomUUID() })
}

const updateChip = declare<
  Omit<StateRow, 'panSequenceNumber' | 'keyVersion' | 'derivationKeyIndex' | 'offlineTryLimit'> & {
    readonly publicToken: PublicToken
    readonly nextStateId: string
  }
>('change_virtual_chip')

/**
 * Stores the next state of a chip.
 * @param next with the id of the state that it follows.
 * @returns whether the chip still had that state.
 */
export async function changeVirtualChip(
  connection: Connection,
  publicToken: PublicToken,
  next: VirtualChipState,
): Promise<boolean> {
  const dataObjects = JSON.stringify(next.dataObjects)
  const values = { ...next, publicToken, dataObjects, nextStateId: randomUUID() }
  return (await updateChip(connection, values)).length === 1
}

/** The PIN of a virtual chip that can be revealed. */
interface ChipPin {
  readonly publicToken: PublicToken
  readonly pinBlock: Uint8Array
  readonly pinKey: string
}

const selectPins = declare<
  { afterToken: string; limit: number },
  ChipPin & { readonly encryptedPan: Uint8Array }
>('list_pins_of_virtual_chips')

/** Lists the PINs of some virtual chips, by token. */
export const listPinsOfVirtualChips = (
  connection: Connection,
  afterToken: string,
  limit: number,
): Promise<(ChipPin & { readonly encryptedPan: Uint8Array })[]> =>
  selectPins(connection, { afterToken, limit })

const selectPvvs = declare<
  { afterToken: string; limit: number },
  Pick<ChipPin, 'publicToken' | 'pinKey'>
>('list_pvvs_of_virtual_chips')

/** Lists some virtual chips whose PIN is stored as a PVV, by token. */
export const listPvvsOfVirtualChips = (
  connection: Connection,
  afterToken: string,
  limit: number,
): Promise<Pick<ChipPin, 'publicToken' | 'pinKey'>[]> =>
  selectPvvs(connection, { afterToken, limit })

const updatePin = declare<
  ChipPin & {
    readonly nextStateId: string
    readonly newPinBlock: Uint8Array
    readonly newPinKey: string
  }
>('move_pin_of_virtual_chip')

/**
 * Stores a PIN under another key, unless another PIN was set meanwhile.
 * @returns whether it was stored.
 */
export const movePinOfVirtualChip = async (
  connection: Connection,
  before: ChipPin,
  after: Omit<ChipPin, 'publicToken'>,
): Promise<boolean> => {
  const moved = {
    ...before,
    nextStateId: randomUUID(),
    newPinBlock: after.pinBlock,
    newPinKey: after.pinKey,
  }
  return (await updatePin(connection, moved)).length === 1
}
