import type { CardStatusCode } from '../../domain/card-status.ts'
import type { ChipCommandName, ChipCommandState } from '../../domain/chip-command.ts'
import { guessing } from '../../domain/guessing.ts'
import type { PublicToken } from '../../domain/identifiers.ts'
import { type Connection, firstRow } from '../engine/database.ts'
import { loadStatements } from '../engine/statements.ts'
import { type Claim, type ClaimValues, claimParameters } from '../idempotency/idempotency.ts'

const declare = loadStatements(import.meta.url)

/** The changes by a message of a chip and its answer. Commands are named by their numbers. */
export interface ChipResults {
  readonly publicToken: PublicToken
  readonly panSequenceNumber: string
  readonly atc: number
  readonly sent: readonly number[]
  readonly done: readonly number[]
  readonly failed: readonly number[]
  /** No result came for them. */
  readonly unconfirmed: readonly number[]
  readonly remainingOfflineTries: number | null
}

const recordResults = declare<ChipResults>('record_chip_results')

/** Records what changed, once: what is known already does not change. */
export const recordChipResults = async (
  connection: Connection,
  results: ChipResults,
): Promise<void> => {
  await recordResults(connection, results)
}

/** The cryptogram of an advice. */
export interface AdvisedChip {
  readonly publicToken: PublicToken
  readonly networkId: string
  /** JSON: the use of its chip; null if the cryptogram is wrong. */
  readonly chip: string | null
}

const recordAdvised = declare<
  AdvisedChip & { readonly mistakes: number; readonly windowLength: number },
  { readonly isGuessing: boolean }
>('record_advised_chip')

/**
 * Uses the transaction counter of a right cryptogram, or counts a wrong one.
 * @returns whether to report guessing now.
 */
export const recordAdvisedChip = async (
  connection: Connection,
  advised: AdvisedChip,
): Promise<boolean> => {
  const windowLength = guessing.windowSeconds * 1_000_000
  const counted = { ...advised, mistakes: guessing.mistakes, windowLength }
  return firstRow(await recordAdvised(connection, counted))?.isGuessing ?? false
}

interface OwnCard {
  readonly publicToken: PublicToken
  readonly clientId: string
}

/** The facts that a command to the chip of a card depends on. */
export interface ChippedCard {
  readonly statusCode: CardStatusCode
  /** `YYYY-MM-DD`, the last day before the status 54. */
  readonly validUntil: string
  readonly isRetired: boolean
  readonly lastSequence: number
  /** Whether it is a physical card of a product with chips. */
  readonly hasChip: boolean
}

const selectCard = declare<OwnCard, ChippedCard>('find_chipped_card')

/** Returns a client's card, or null. */
export const findChippedCard = async (
  connection: Connection,
  publicToken: PublicToken,
  clientId: string,
): Promise<ChippedCard | null> => firstRow(await selectCard(connection, { publicToken, clientId }))

interface OfCard {
  readonly publicToken: PublicToken
  readonly limit: number
}

/** A chip that has made a valid cryptogram. */
export interface ChipRow {
  readonly panSequenceNumber: string
  readonly highestAtc: number
  readonly keyVersion: number
  readonly remainingOfflineTries: number | null
  readonly offlineTriesAt: Date | null
}

const selectChips = declare<OfCard, ChipRow>('list_chips')

/** Lists the chips of a card by their sequence numbers. */
export const listChips = (
  connection: Connection,
  publicToken: PublicToken,
  limit: number,
): Promise<ChipRow[]> => selectChips(connection, { publicToken, limit })

/** A command, without its PIN and its value. */
export interface ChipCommandRow {
  readonly number: number
  readonly command: ChipCommandName
  readonly state: ChipCommandState
  /**
   * The chip that it is for, or that an answer carried it to; null: the first that comes, or for a
   * PIN the newest chip.
   */
  readonly panSequenceNumber: string | null
  /** The tag that it puts, in hexadecimal digits; null for other commands. */
  readonly tag: string | null
  readonly createdAt: Date
  readonly sentAt: Date | null
  readonly sentCount: number
  readonly endedAt: Date | null
}

const selectCommands = declare<OfCard, ChipCommandRow>('list_chip_commands')

/** Lists the commands to the chip of a card, newest first. */
export const listChipCommands = (
  connection: Connection,
  publicToken: PublicToken,
  limit: number,
): Promise<ChipCommandRow[]> => selectCommands(connection, { publicToken, limit })

const selectWaiting = declare<OfCard, ChipCommandRow>('list_waiting_chip_commands')

/** Lists the commands that wait for the chips of a card, newest first. */
export const listWaitingChipCommands = (
  connection: Connection,
  publicToken: PublicToken,
  limit: number,
): Promise<ChipCommandRow[]> => selectWaiting(connection, { publicToken, limit })

const selectNumbers = declare<
  OfCard & { readonly chip: string | null },
  { readonly number: number }
>('list_numbers_of_waiting_commands')

/**
 * Counts the commands that wait for a chip of a card, up to a limit.
 * @param chip its PAN sequence number; null counts those of all chips.
 */
export const countWaitingCommands = async (
  connection: Connection,
  publicToken: PublicToken,
  chip: string | null,
  limit: number,
): Promise<number> => (await selectNumbers(connection, { publicToken, chip, limit })).length

/** A command that a client requests. */
export interface RequestedChipCommand {
  readonly publicToken: PublicToken
  /** That of the card's next event. */
  readonly number: number
  readonly command: ChipCommandName
  /** The tag and the value that it puts; null for other commands. */
  readonly dataObject: Uint8Array | null
  /** Null: the newest chip that was seen. */
  readonly panSequenceNumber: string | null
  readonly clientId: string
  readonly requestId: string | null
  readonly operatorId: string | null
}

const requestCommand = declare<
  RequestedChipCommand & Omit<ClaimValues, 'publicToken'>,
  { readonly isDone: boolean }
>('request_chip_command')

/** Queues a command for the chip of a card, unless the card had another event meanwhile. */
export const queueRequestedCommand = async (
  connection: Connection,
  command: RequestedChipCommand,
  claim: Claim | null,
): Promise<boolean> =>
  firstRow(await requestCommand(connection, { ...command, ...claimParameters(claim) }))?.isDone ??
  false
