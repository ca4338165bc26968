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

/** The commands that a client queues itself. The others follow from Set PIN and Unblock PIN. */
export const requestedChipCommands = [
  'block_application',
  'unblock_application',
  'block_card',
  'put_data',
] as const satisfies readonly ChipCommandName[]
export type RequestedChipCommandName = (typeof requestedChipCommands)[number]

/** The states of a command. A command in one of the last three has ended. */
export const chipCommandStates = ['pending', 'sent', 'done', 'failed', 'superseded'] as const
export type ChipCommandState = (typeof chipCommandStates)[number]

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
  /** The chip that an answer carried it to, and the counter of that transaction; null if none. */
  readonly sentTo: string | null
  readonly sentAtc: number | null
}

/** The greatest number of bytes of a value that a command puts: an answer has room for it. */
export const putDataMost = 64

/** The report of chip data on commands that were sent. */
export interface ChipCommandReport {
  readonly panSequenceNumber: string
  readonly atc: number
  /** The terminal's results (tag 9F5B); null if it sent none. */
  readonly results: Uint8Array | null
  /**
   * How many commands the chip says it has processed since its last online transaction; null if the
   * profile does not say.
   */
  readonly processed: number | null
  /** Whether the chip says that a command failed. */
  readonly hasFailed: boolean
}

/** The numbers of the commands that have ended. */
export interface EndedChipCommands {
  readonly done: readonly number[]
  readonly failed: readonly number[]
}

/**
 * Finds the waiting commands that a report ends. The terminal's results come first. A command
 * without a result counts by what the chip itself says in a later online transaction.
 */
export function findEndedCommands(
  waiting: readonly WaitingChipCommand[],
  report: ChipCommandReport,
): EndedChipCommands {
  const results = readCommandResults(report.results)
  const carried = waiting.filter((command) => wasCarriedBefore(command, report))
  const outcomes = waiting.map((command) => {
    const result = results.get(command.number)
    if (result !== undefined) return { number: command.number, outcome: result }
    return { number: command.number, outcome: carried.includes(command) && readOutcome(report) }
  })
  const select = (outcome: 'done' | 'failed') =>
    outcomes.filter((each) => each.outcome === outcome).map(({ number }) => number)
  return { done: select('done'), failed: select('failed') }
}

/** Whether an earlier answer carried a command to the chip of the report. */
const wasCarriedBefore = (
  { sentAtc, sentTo }: WaitingChipCommand,
  { atc, panSequenceNumber }: ChipCommandReport,
): boolean => sentAtc !== null && sentTo === panSequenceNumber && atc > sentAtc

function readOutcome({ hasFailed, processed }: ChipCommandReport): 'done' | 'failed' | null {
  if (hasFailed) return 'failed'
  return processed !== null && processed > 0 ? 'done' : null
}

/** The bytes of one result: the outcome, and the number of the command. */
const resultLength = 5

/**
 * Reads the results of commands (EMV Book 4, annex A4; tag 9F5B): five bytes for each one. The
 * high half of the first byte is 2 for a command that was processed, 1 for one that failed, and 0
 * for one that was not performed, which waits on.
 */
function readCommandResults(
  results: Uint8Array | null,
): ReadonlyMap<number, 'done' | 'failed' | null> {
  const read = new Map<number, 'done' | 'failed' | null>()
  const bytes = Buffer.from(results ?? [])
  for (let at = 0; at + resultLength <= bytes.length; at += resultLength) {
    const outcome = bytes.readUInt8(at) >> 4
    const number = bytes.readUInt32BE(at + 1)
    read.set(number, outcome === 2 ? 'done' : outcome === 1 ? 'failed' : null)
  }
  return read
}
