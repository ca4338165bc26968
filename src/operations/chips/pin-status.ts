import type { ChipCommandName, ChipCommandState } from '../../domain/chip-command.ts'
import type { Requester } from '../../domain/client.ts'
import type { PublicToken } from '../../domain/identifiers.ts'
import type { TryStatus } from '../../domain/tries.ts'
import * as stored from '../../storage/chips/commands.ts'
import type * as cards from '../cards/cards.ts'
import { findTryStatus } from '../cards/tries.ts'

/** The known state of the PIN in a chip. */
interface ChipPinStatus {
  /** The state of the newest command that changes or unblocks it. */
  readonly chipUpdate: 'none' | Exclude<ChipCommandState, 'superseded'>
  /** The last report of the chip, and its time (RFC 3339). */
  readonly remainingOfflineTries?: number
  readonly reportedAt?: string
}

/** The status of a PIN; with that of the PIN in the chip if the card has one. */
export type PinStatus = TryStatus & Partial<ChipPinStatus>

/** How many commands are searched for the newest one that concerns the PIN. */
const searchedMost = 50

/**
 * Returns whether a card's PIN can be used, the remaining tries, and what is known of the PIN in
 * its chip. Works in every card status.
 * @throws `Problem` `card_not_found`.
 */
export async function findPinStatus(
  context: cards.CardContext,
  requester: Requester,
  publicToken: PublicToken,
): Promise<PinStatus> {
  const { database } = context
  const [status, card] = await Promise.all([
    findTryStatus(context, requester, publicToken, 'pin'),
    stored.findChippedCard(database, publicToken, requester.clientId),
  ])
  if (!card?.hasChip) return status
  const [chips, commands] = await Promise.all([
    stored.listChips(database, publicToken, searchedMost),
    stored.listChipCommands(database, publicToken, searchedMost),
  ])
  return { ...status, chipUpdate: selectChipUpdate(commands), ...describeReport(chips) }
}

/** The commands that concern the PIN. */
const pinCommands: readonly ChipCommandName[] = ['change_pin', 'unblock_pin']

/** A command that waits comes before one that has ended, so that nothing that is due is hidden. */
function selectChipUpdate(commands: readonly stored.ChipCommandRow[]): ChipPinStatus['chipUpdate'] {
  const states = commands
    .filter(({ command }) => pinCommands.includes(command))
    .map(({ state }) => state)
  const waiting = states.find((state) => state === 'pending' || state === 'sent')
  const ended = states.find((state) => state !== 'superseded')
  return waiting ?? ended ?? 'none'
}

/** Of several chips, the one that reported last. */
function describeReport(
  chips: readonly stored.ChipRow[],
): Pick<ChipPinStatus, 'remainingOfflineTries' | 'reportedAt'> {
  const [latest] = chips
    .filter(({ offlineTriesAt }) => offlineTriesAt !== null)
    .toSorted((one, other) => Number(other.offlineTriesAt) - Number(one.offlineTriesAt))
  if (!latest?.offlineTriesAt || latest.remainingOfflineTries === null) return {}
  return {
    remainingOfflineTries: latest.remainingOfflineTries,
    reportedAt: latest.offlineTriesAt.toISOString(),
  }
}
