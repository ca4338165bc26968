import * as chipCommands from '../../domain/chip-command.ts'
import type { PublicToken } from '../../domain/identifiers.ts'
import { Problem, validationFailed } from '../../domain/problem.ts'
import * as stored from '../../storage/chips/commands.ts'
import * as cards from '../cards/cards.ts'
import { type Answer, commitOnce, type RepeatableRequest } from '../idempotency/idempotency.ts'
import { findChippedCard } from './card-chips.ts'

/** The greatest number of commands that wait for one chip. */
const waitingMost = 16

/** A command as its client requests it. */
interface RequestedCommand {
  readonly publicToken: PublicToken
  readonly command: chipCommands.RequestedChipCommandName
  /** Two bytes in hexadecimal digits. */
  readonly tag?: string
  /** Hexadecimal digits. */
  readonly value?: string
  /** The chip; the newest that was seen, unless it is given. */
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
 * status of the card, and are not limited in number.
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
    // A chip that must stop is never told too late.
    if (!chipCommands.blockCommands.includes(command)) {
      cards.refuseClosed(context, card)
      await refuseTooMany(context, publicToken)
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
  if (faults.length > 0) throw validationFailed(...faults)
  return isPut ? Buffer.from(`${tag}${value}`, 'hex') : null
}

async function refuseTooMany(
  { database }: Pick<cards.CardContext, 'database'>,
  publicToken: PublicToken,
): Promise<void> {
  const waiting = await stored.countWaitingCommands(database, publicToken, waitingMost)
  if (waiting >= waitingMost) throw new Problem('too_many_chip_commands')
}
