import { composeApplicationData } from '../../domain/chip-application-data.ts'
import {
  type ChipProfileName,
  type ChipTags,
  chipProfiles,
  composeCryptogramData,
} from '../../domain/chip-profile.ts'
import { chipTransactionTypes } from '../../domain/chip-transaction-types.ts'
import { findCountryNumber } from '../../domain/countries.ts'
import { findCurrency } from '../../domain/currencies.ts'
import type { Money } from '../../domain/money.ts'
import type { TransactionType } from '../../domain/transaction.ts'
import type { ChipCryptogram } from '../../hsm/contract/chip.ts'
import type { VirtualChipState } from '../../storage/sandbox/virtual-chips.ts'
import { hasFailedResult } from './command-results.ts'

/** The result of the PIN that the chip itself compared. */
export type OfflinePinResult = 'right' | 'wrong' | 'blocked' | 'not_given'

/** The circumstances at the terminal. */
export interface TerminalTransaction {
  readonly money: Money
  /** The cash part of the amount. */
  readonly cashbackAmount: number
  readonly transactionType: TransactionType
  readonly at: Date
  /** ISO 3166-1 alpha-3: where the terminal is. Null: in Spain. */
  readonly country: string | null
  readonly offlinePin: OfflinePinResult
  /** 4 bytes. */
  readonly unpredictableNumber: Uint8Array
}

/** The application identifiers of the schemes (tag 84); a proprietary one without a scheme. */
const applicationIds: Readonly<Record<ChipProfileName, string>> = {
  'visa-cvn10': 'A0000000031010',
  'visa-cvn18': 'A0000000031010',
  'visa-cvn22': 'A0000000031010',
  'mastercard-16': 'A0000000041010',
  'mastercard-20': 'A0000000041010',
  'mastercard-17': 'A0000000041010',
  'mastercard-21': 'A0000000041010',
  cpa: 'F0000000010001',
}

/** The data that a terminal with an operator sends in each transaction. */
const constants = [
  // The chip verifies cardholders, and its terminal manages risks.
  ['82', '1800'],
  // Reads chips and stripes, and takes PINs online and offline.
  ['9F33', 'E0F0C8'],
  ['9F35', '22'],
] as const

const spain = '724'

/** Cardholder verification (tag 9F34; EMV Book 4, A4): the method, its condition and its result. */
const verificationResults: Readonly<Record<OfflinePinResult, string>> = {
  right: '410302',
  wrong: '410301',
  blocked: '410301',
  not_given: '1F0000',
}

/** Byte 1 of the TVR: no offline authentication of data. */
const dataNotAuthenticated = 0x80
/** Byte 3 of the TVR. */
const cardholderNotVerified = 0x80
const pinTriesExceeded = 0x20

/**
 * Composes what a chip and its terminal send of a transaction, except the cryptogram.
 * @param chip the state with the counter and the tries of this transaction.
 */
export function composeTransactionTags(
  profile: ChipProfileName,
  chip: VirtualChipState,
  transaction: TerminalTransaction,
): ChipTags {
  const { at, cashbackAmount, country, money, offlinePin } = transaction
  const { transactionType, unpredictableNumber } = transaction
  const atc = Buffer.alloc(2)
  atc.writeUInt16BE(chip.atc)
  const date = at.toISOString().slice(2, 10).replaceAll('-', '')
  const hexadecimal = [
    ...constants,
    ['84', applicationIds[profile]],
    ['9F02', String(money.amount).padStart(12, '0')],
    ['9F03', String(cashbackAmount).padStart(12, '0')],
    ['5F2A', (findCurrency(money.currency)?.number ?? '').padStart(4, '0')],
    ['9F1A', `0${findCountryNumber(country ?? '') ?? spain}`],
    ['9C', chipTransactionTypes[transactionType][0]],
    ['5F34', chip.panSequenceNumber],
    ['9A', date],
    ['9F34', verificationResults[offlinePin]],
  ] as const
  return new Map<string, Uint8Array>([
    ...hexadecimal.map(([tag, value]) => [tag, Buffer.from(value, 'hex')] as const),
    ['95', composeVerificationResults(chip, offlinePin)],
    ['9F10', composeOwnReport(profile, chip, offlinePin)],
    ['9F36', atc],
    ['9F37', unpredictableNumber],
    ...(chip.commandResults.length > 0 ? ([['9F5B', chip.commandResults]] as const) : []),
  ])
}

/** Composes the bytes that a virtual chip makes its cryptogram over. */
export function composeVirtualCryptogramData(profile: ChipProfileName, tags: ChipTags): Buffer {
  const bytes = composeCryptogramData(chipProfiles[profile], tags)
  if (bytes === null) throw new Error('A virtual chip left out a tag.')
  return bytes
}

/** Composes the terminal verification results (TVR). */
function composeVerificationResults(
  { remainingOfflineTries }: VirtualChipState,
  offlinePin: OfflinePinResult,
): Buffer {
  const isVerified = offlinePin === 'right' || offlinePin === 'not_given'
  const cardholder =
    (isVerified ? 0 : cardholderNotVerified) | (remainingOfflineTries === 0 ? pinTriesExceeded : 0)
  return Buffer.of(dataNotAuthenticated, 0, cardholder, 0, 0)
}

function composeOwnReport(
  profile: ChipProfileName,
  chip: VirtualChipState,
  offlinePin: OfflinePinResult,
): Buffer {
  const { commandResults, countedCommands, derivationKeyIndex, remainingOfflineTries } = chip
  return composeApplicationData(chipProfiles[profile], {
    derivationKeyIndex,
    kind: chip.isApplicationBlocked ? 'decline' : 'request',
    isOfflinePinPerformed: offlinePin === 'right' || offlinePin === 'wrong',
    isOfflinePinFailed: offlinePin === 'wrong',
    isOfflinePinBlocked: remainingOfflineTries === 0,
    remainingOfflineTries,
    processedCommands: Math.min(countedCommands, 15),
    hasFailedCommand: hasFailedResult(commandResults),
    isLastOnlineIncomplete: chip.isOnlineIncomplete,
  })
}

/** Returns the cryptogram that waits for an answer, or null. */
export function toCryptogram(state: VirtualChipState): ChipCryptogram | null {
  const { cryptogram: arqc, cryptogramData: data, unpredictableNumber } = state
  if (arqc === null || data === null || unpredictableNumber === null) return null
  const atc = Buffer.alloc(2)
  atc.writeUInt16BE(state.atc)
  return { arqc, data, atc, unpredictableNumber }
}
