import * as chipCommands from '../../domain/chip-command.ts'
import type { PublicToken } from '../../domain/identifiers.ts'
import { holdsPan } from '../../domain/pan.ts'
import { Problem, validationFailed } from '../../domain/problem.ts'
import * as stored from '../../storage/chips/commands.ts'
import * as cards from '../cards/cards.ts'
import { type Answer, commitOnce, type RepeatableRequest } from '../idempotency/idempotency.ts'
import { findChippedCard } from './card-chips.ts'

/** The greatest number of commands that wait for one chip. */
const waitingMost = 16

/** The greatest number of chips of a card, by their sequence numbers. */
const chipsMost = 100

/** A command as its client requests it. */
interface RequestedCommand {
  readonly publicToken: PublicToken
  readonly command: chipCommands.RequestedChipCommandName
  /** Two bytes in hexadecimal digits. */
  readonly tag?: string
  /** Hexadecimal digits. */
  readonly value?: string
  /**
   * The chip; the newest that was seen, unless it is given. `block_card` needs it, unless exactly
   * one chip was seen.
   */
  readonly panSequenceNumber?: string
}

/** A command that was queued. */
interface QueuedCommand {
  readonly commandNumber: number
  readonly command: chipCommands.RequestedChipCommandName
  readonly state: 'pending'
}

/**
 * Queues a command to the chip of the requester's card. Commands that block are queued in every
 * status of the card. Only `put_data` is refused if too many commands wait for the chip.
 * @throws `Problem` `card_not_found`, `card_without_chip`, `card_closed`,
 *   `too_many_chip_commands`, `validation_failed`.
 */
export const requestChipCommand = (
  context: cards.CardContext,
  requester: cards.CardActor,
  { command, panSequenceNumber, publicToken, ...object }: RequestedCommand,
  request: RepeatableRequest | null,
): Promise<Answer<QueuedCommand>> =>
  commitOnce<QueuedCommand>(context, request, async (claimFor) => {
    const { database } = context
    const dataObject = composeDataObject(command, object)
    const card = await findChippedCard(context, requester, publicToken)
    const chips = await stored.listChips(database, publicToken, chipsMost)
    refuseOtherChip(chips, command, panSequenceNumber)
    // A chip that must stop is never told too late.
    if (!chipCommands.blockCommands.includes(command)) cards.refuseClosed(context, card)
    // Others replace one of their kind, so they never become many.
    if (command === 'put_data') {
      const newest = chips.at(-1)?.panSequenceNumber ?? null
      // The chips of a card that has not used one are not known, so they share the limit.
      const chip = newest === null ? null : (panSequenceNumber ?? newest)
      await refuseTooMany(context, publicToken, chip)
    }
    const number = card.lastSequence + 1
    const result = { commandNumber: number, command, state: 'pending' } as const
    const { clientId, operatorId = null, requestId } = requester
    const isDone = await stored.queueRequestedCommand(
      database,
      {
        publicToken,
        number,
        command,
        dataObject,
        panSequenceNumber: panSequenceNumber ?? null,
        clientId,
        requestId,
        operatorId,
      },
      await claimFor(result),
    )
    return { isDone, result }
  })

/** @throws `Problem` `validation_failed` for members that do not fit the command. */
function composeDataObject(
  command: chipCommands.RequestedChipCommandName,
  { tag, value }: Pick<RequestedCommand, 'tag' | 'value'>,
): Buffer | null {
  const given = { tag, value }
  const isPut = command === 'put_data'
  const detail = isPut ? 'must be given with put_data' : 'belongs to put_data only'
  const faults = (['tag', 'value'] as const)
    .filter((name) => (given[name] !== undefined) !== isPut)
    .map((name) => ({ pointer: `/${name}`, detail }))
  if (value !== undefined && value.length % 2 !== 0) {
    faults.push({ pointer: '/value', detail: 'must have an even number of digits' })
  }
  if (value !== undefined && holdsCardNumber(value)) {
    faults.push({ pointer: '/value', detail: 'must not contain a card number' })
  }
  if (faults.length > 0) throw validationFailed(...faults)
  return isPut ? Buffer.from(`${tag}${value}`, 'hex') : null
}

/**
 * Whether a value may hold a card number, in its digits or in ASCII. No card number begins with 0,
 * and many amounts do.
 */
function holdsCardNumber(value: string): boolean {
  const ascii = Buffer.from(value, 'hex')
    .toString('latin1')
    .replaceAll(/[^ -~]/g, '|')
  return [value, ascii].some((text) => holdsPan(text.replaceAll(/(?<![0-9])0+/g, '')))
}

/**
 * Refuses a command for a chip that the card does not have. No command undoes a block of the card,
 * so it never goes to a chip that was only guessed.
 * @throws `Problem` `validation_failed`.
 */
function refuseOtherChip(
  chips: readonly stored.ChipRow[],
  command: chipCommands.RequestedChipCommandName,
  given: string | undefined,
): void {
  const pointer = '/panSequenceNumber'
  const isKnown = chips.some(({ panSequenceNumber }) => panSequenceNumber === given)
  if (given !== undefined && chips.length > 0 && !isKnown) {
    throw validationFailed({ pointer, detail: 'must be that of a chip which was seen' })
  }
  if (given === undefined && command === 'block_card' && chips.length !== 1) {
    const detail = 'must be given with block_card, unless exactly one chip was seen'
    throw validationFailed({ pointer, detail })
  }
}

async function refuseTooMany(
  { database }: Pick<cards.CardContext, 'database'>,
  publicToken: PublicToken,
  chip: string | null,
): Promise<void> {
  const waiting = await stored.countWaitingCommands(database, publicToken, chip, waitingMost)
  if (waiting >= waitingMost) throw new Problem('too_many_chip_commands')
}
