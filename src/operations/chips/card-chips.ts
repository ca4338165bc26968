import type { Requester } from '../../domain/client.ts'
import type { PublicToken } from '../../domain/identifiers.ts'
import { Problem } from '../../domain/problem.ts'
import { findCardOfAnyClient } from '../../storage/cards/search.ts'
import { findTries, type TriesRow } from '../../storage/cards/tries.ts'
import * as stored from '../../storage/chips/commands.ts'
import type * as cards from '../cards/cards.ts'

type ChipContext = Pick<cards.CardContext, 'database'>

/** The greatest number of chips and of newest commands that an answer lists. */
const listedMost = 50

/** The greatest number of waiting commands: more than the chips of a card can have. */
const waitingMost = 2_000

/** The chips of a card, and the commands to them, newest first. */
interface CardChips {
  /** The state of the PIN in the chip, as the status of the PIN has it. */
  readonly chipUpdate: NonNullable<TriesRow['chipUpdate']>
  readonly chips: readonly ReturnType<typeof describeChip>[]
  readonly commands: readonly ReturnType<typeof describeCommand>[]
}

/**
 * Returns the chips of the requester's card that have made a valid cryptogram, the newest commands,
 * and every command that waits.
 * @throws `Problem` `card_not_found`, `card_without_chip`.
 */
export async function findCardChips(
  context: ChipContext,
  requester: Pick<Requester, 'clientId'>,
  publicToken: PublicToken,
): Promise<CardChips> {
  const { database } = context
  await findChippedCard(context, requester, publicToken)
  const [tries, chips, newest, waiting] = await Promise.all([
    findTries(database, publicToken, 'pin', requester.clientId),
    stored.listChips(database, publicToken, listedMost),
    stored.listChipCommands(database, publicToken, listedMost),
    stored.listWaitingChipCommands(database, publicToken, waitingMost),
  ])
  const oldest = newest.at(-1)?.number ?? 0
  const commands = [...newest, ...waiting.filter(({ number }) => number < oldest)]
  return {
    chipUpdate: tries?.chipUpdate ?? 'none',
    chips: chips.map(describeChip),
    commands: commands.map(describeCommand),
  }
}

/**
 * Returns the same for a card of any client.
 * @throws `Problem` `card_not_found`, `card_without_chip`.
 */
export async function findChipsOfAnyClient(
  context: ChipContext,
  publicToken: PublicToken,
): Promise<CardChips> {
  const card = await findCardOfAnyClient(context.database, publicToken)
  if (!card) throw new Problem('card_not_found')
  return findCardChips(context, card, publicToken)
}

/**
 * Finds the requester's card.
 * @throws `Problem` `card_not_found`, `card_without_chip`.
 */
export async function findChippedCard(
  { database }: ChipContext,
  { clientId }: Pick<Requester, 'clientId'>,
  publicToken: PublicToken,
): Promise<stored.ChippedCard> {
  const card = await stored.findChippedCard(database, publicToken, clientId)
  if (!card) throw new Problem('card_not_found')
  if (!card.hasChip) throw new Problem('card_without_chip')
  return card
}

const describeChip = (chip: stored.ChipRow) => ({
  panSequenceNumber: chip.panSequenceNumber,
  highestAtc: chip.highestAtc,
  keyVersion: chip.keyVersion,
  ...(chip.remainingOfflineTries !== null &&
    chip.offlineTriesAt !== null && {
      remainingOfflineTries: chip.remainingOfflineTries,
      reportedAt: chip.offlineTriesAt.toISOString(),
    }),
})

const describeCommand = (command: stored.ChipCommandRow) => ({
  commandNumber: command.number,
  command: command.command,
  state: command.state,
  ...(command.panSequenceNumber !== null && { panSequenceNumber: command.panSequenceNumber }),
  ...(command.tag !== null && { tag: command.tag.toUpperCase() }),
  queuedAt: command.createdAt.toISOString(),
  sentCount: command.sentCount,
  ...(command.sentAt !== null && { sentAt: command.sentAt.toISOString() }),
  ...(command.endedAt !== null && { endedAt: command.endedAt.toISOString() }),
})
