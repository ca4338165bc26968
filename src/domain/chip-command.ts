import type { PresentedPlastic } from './card-life.ts'
import type { CommandTemplate } from './chip-profile.ts'

/** The commands from an issuer to a chip, which EMV calls issuer scripts (EMV Book 3, 10.10). */
export const chipCommands = [
  'change_pin',
  'unblock_pin',
  'block_application',
  'unblock_application',
  'block_card',
  'put_data',
] as const
export type ChipCommandName = (typeof chipCommands)[number]

/** The template of each command. */
export const commandTemplates: Readonly<Record<ChipCommandName, CommandTemplate>> = {
  change_pin: '72',
  unblock_pin: '72',
  block_application: '71',
  unblock_application: '71',
  block_card: '71',
  put_data: '72',
}

/** The commands that a client queues itself. The others follow from Set PIN and Unblock PIN. */
export const requestedChipCommands = [
  'block_application',
  'unblock_application',
  'block_card',
  'put_data',
] as const satisfies readonly ChipCommandName[]
export type RequestedChipCommandName = (typeof requestedChipCommands)[number]

/** The states of a command. A command in one of the last four has ended. */
export const chipCommandStates = [
  'pending',
  'sent',
  'done',
  'failed',
  'unconfirmed',
  'superseded',
] as const
export type ChipCommandState = (typeof chipCommandStates)[number]

/** The states of the PIN in a chip: that of a command for it, or none. */
export const chipUpdates = ['none', 'pending', 'sent', 'done', 'failed', 'unconfirmed'] as const
export type ChipUpdate = (typeof chipUpdates)[number]

/**
 * A command that waits for its chip, in the JSON form of a read: bytes are hexadecimal digits. It
 * has a PIN only if it changes the PIN, and a data object only if it puts one.
 */
export interface WaitingChipCommand {
  readonly number: number
  readonly command: ChipCommandName
  readonly pinBlock: string | null
  readonly pinKey: string | null
  /** The tag, of two bytes, and the value. */
  readonly dataObject: string | null
  /** The chip that it is for; null: the first that comes, or for a PIN the newest chip. */
  readonly panSequenceNumber: string | null
  readonly sentCount: number
  /** The chip that an answer carried it to, and the counter of that transaction; null if none. */
  readonly sentTo: string | null
  readonly sentAtc: number | null
}

/** The greatest number of bytes of a value that a command puts: an answer has room for it. */
export const putDataMost = 64

/** The report of chip data on commands that were sent. */
export interface ChipCommandReport {
  readonly panSequenceNumber: string
  readonly plastic: PresentedPlastic
  readonly atc: number
  /** The highest sequence number of the card's chips before; null if none was seen before. */
  readonly newestPanSequenceNumber: string | null
  /** The highest counter of this chip before; null if the chip was not seen before. */
  readonly lastAtc: number | null
  /** The highest one of a transaction by its contacts; null if none was seen. */
  readonly lastContactAtc: number | null
  /** Whether the chip was read by its contacts. A tapped card has left when its answer comes. */
  readonly isContact: boolean
  /** Whether the card has expired, so that its chip gets no other command than a block. */
  readonly isCardExpired: boolean
  /** Whether it comes in an advice, which has the counter of the request before it. */
  readonly isAdvice: boolean
  /** The terminal's results (tag 9F5B); null if it sent none. */
  readonly results: Uint8Array | null
  /** How many commands of the last answer the chip says it has executed. */
  readonly processed: number
  /** The templates whose commands it counts. */
  readonly countedTemplates: readonly CommandTemplate[]
  /** Whether the chip says that a command failed. */
  readonly hasFailed: boolean
  /** Whether the last online transaction was not completed; null if the chip does not say it. */
  readonly isLastOnlineIncomplete: boolean | null
  /** Whether the chip itself declined (AAC), as one with a blocked application does. */
  readonly isDeclined: boolean
}

/** The numbers of the commands that have ended. */
export interface EndedChipCommands {
  readonly done: readonly number[]
  /** The chip refused them. */
  readonly failed: readonly number[]
  /** No result came. The chip may have executed them. */
  readonly unconfirmed: readonly number[]
}

type Outcome = keyof EndedChipCommands

/** Commands that concern the PIN go to the chip of a card that is in use. */
const pinCommands: readonly ChipCommandName[] = ['change_pin', 'unblock_pin']

/** Commands that stop a chip. They come first, and are sent until their chip reports a result. */
export const blockCommands: readonly ChipCommandName[] = ['block_application', 'block_card']

/** How often a command is sent without a result before it ends as unconfirmed. */
const sendingsMost = 10

/**
 * Lists the commands that are due with the answer to a report, in their order: those that block,
 * then the least often sent ones, so that a command without a result stops no other one. None are
 * due with an answer that cannot reach the chip: that to a tap, or to an older transaction.
 */
export function listDueCommands(
  waiting: readonly WaitingChipCommand[],
  report: ChipCommandReport,
): readonly WaitingChipCommand[] {
  const { atc, isCardExpired, isContact, lastAtc } = report
  if (!isContact || (lastAtc !== null && atc < lastAtc)) return []
  const ended = Object.values(findEndedCommands(waiting, report)).flat()
  return waiting
    .filter((command) => isForChip(command, report) && !ended.includes(command.number))
    .filter(({ command }) => !isCardExpired || blockCommands.includes(command))
    .toSorted(
      (one, other) =>
        rankBlock(one) - rankBlock(other) ||
        one.sentCount - other.sentCount ||
        rankPin(one) - rankPin(other) ||
        one.number - other.number,
    )
}

const rankBlock = ({ command }: WaitingChipCommand): number =>
  blockCommands.includes(command) ? 0 : 1
const rankPin = ({ command }: WaitingChipCommand): number => (pinCommands.includes(command) ? 0 : 1)

/** Whether a command is for the chip of a report. Only the chip that is in use gets a PIN. */
const isForChip = (
  { command, panSequenceNumber }: WaitingChipCommand,
  report: ChipCommandReport,
): boolean =>
  pinCommands.includes(command)
    ? isInUse(report)
    : panSequenceNumber === null || panSequenceNumber === report.panSequenceNumber

/** Without a plastic that is known, it is the newest chip that was seen. */
const isInUse = ({
  newestPanSequenceNumber,
  panSequenceNumber,
  plastic,
}: ChipCommandReport): boolean =>
  plastic === 'current' ||
  (plastic === 'unknown' && panSequenceNumber >= (newestPanSequenceNumber ?? ''))

/**
 * Finds the waiting commands that a report ends, among those that an answer carried to its chip.
 * The terminal's results come first. Without them, the chip's own count decides, if it is certainly
 * that of the answer with the command. A tap ends none.
 */
export function findEndedCommands(
  waiting: readonly WaitingChipCommand[],
  report: ChipCommandReport,
): EndedChipCommands {
  if (!report.isContact) return { done: [], failed: [], unconfirmed: [] }
  const results = report.results && readCommandResults(report.results)
  const carried = waiting.filter(
    (command) => isForChip(command, report) && wasCarriedBefore(command, report),
  )
  const outcomes = carried.map((command) => ({
    number: command.number,
    outcome: confirmOutcome(
      command,
      report,
      results ? results.get(command.number) : readOutcome(command, report),
    ),
  }))
  const select = (outcome: Outcome) =>
    outcomes.filter((each) => each.outcome === outcome).map(({ number }) => number)
  return {
    done: select('done'),
    failed: select('failed'),
    unconfirmed: select('unconfirmed'),
  }
}

/**
 * A chip that requests an authorization is not blocked, even if its terminal reports it. So
 * `block_application` ends when the chip declines offline, and `block_card` never ends.
 */
function confirmOutcome(
  { command, sentCount }: WaitingChipCommand,
  { isDeclined }: ChipCommandReport,
  outcome: 'done' | 'failed' | null | undefined,
): Outcome | null {
  if (blockCommands.includes(command)) {
    const isBlocked = command === 'block_application' && isDeclined
    return isBlocked && outcome === 'done' ? 'done' : null
  }
  return outcome ?? (sentCount >= sendingsMost ? 'unconfirmed' : null)
}

/** Whether an earlier answer, or the one that an advice is about, carried a command to the chip. */
const wasCarriedBefore = (
  { sentAtc, sentTo }: WaitingChipCommand,
  { atc, isAdvice, panSequenceNumber }: ChipCommandReport,
): boolean =>
  sentAtc !== null &&
  sentTo === panSequenceNumber &&
  (atc > sentAtc || (isAdvice && atc === sentAtc))

/**
 * Reads the outcome of a command from the chip's own count. After a lost answer, a chip still
 * counts the commands of an answer before it. So the count must be that of the last answer: the
 * chip says that its last online transaction was completed, and no other one by its contacts came
 * since. An advice does not say how the chip was read.
 */
function readOutcome(
  { command, sentAtc }: WaitingChipCommand,
  report: ChipCommandReport,
): 'done' | 'failed' | null {
  const isOfLastAnswer =
    !report.isAdvice &&
    sentAtc === report.lastContactAtc &&
    sentAtc !== report.atc &&
    report.isLastOnlineIncomplete === false
  if (!isOfLastAnswer || !report.countedTemplates.includes(commandTemplates[command])) return null
  if (report.hasFailed) return 'failed'
  return report.processed === 1 ? 'done' : null
}

/** The bytes of one result (tag 9F5B): the outcome, and the number of the command. */
export const commandResultLength = 5

/**
 * The outcomes in the high half of the first byte of a result (EMV Book 4, annex A5). A command
 * that was not executed still waits.
 */
export const commandResultCodes = { not_carried_out: 0, failed: 1, done: 2 } as const

function readCommandResults(results: Uint8Array): ReadonlyMap<number, 'done' | 'failed' | null> {
  const read = new Map<number, 'done' | 'failed' | null>()
  const bytes = Buffer.from(results)
  for (let at = 0; at + commandResultLength <= bytes.length; at += commandResultLength) {
    const outcome = bytes.readUInt8(at) >> 4
    const { done, failed } = commandResultCodes
    const number = bytes.readUInt32BE(at + 1)
    read.set(number, outcome === done ? 'done' : outcome === failed ? 'failed' : null)
  }
  return read
}
