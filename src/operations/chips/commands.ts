import {
  type ChipCommandName,
  type ChipCommandReport,
  commandTemplates,
  findEndedCommands,
  listDueCommands,
  type WaitingChipCommand,
} from '../../domain/chip-command.ts'
import { composeChipData } from '../../domain/chip-data.ts'
import type { PublicToken } from '../../domain/identifiers.ts'
import type { ChipCryptogram, ChipReference, ScriptKeys } from '../../hsm/contract/chip.ts'
import type { Hsm } from '../../hsm/contract/hsm.ts'
import * as storedCommands from '../../storage/chips/commands.ts'
import type { Database } from '../../storage/engine/database.ts'

/** The dependencies of composing commands. */
interface CommandComposer {
  readonly hsm: Pick<Hsm, 'makeCommand' | 'makePinChange'>
  readonly observe: { hsmFaulted(error: unknown): void }
}

/** The commands that waited when a message came, and what its chip data report of them. */
export interface ReportedCommands {
  readonly waiting: readonly WaitingChipCommand[]
  readonly report: ChipCommandReport
}

/** A chip whose cryptogram is answered, and the version of its keys. */
export interface AnsweredChip extends ChipReference {
  readonly keyVersion: number
}

/** The command of an answer. */
export interface ComposedCommands {
  /** Template 71 or 72 for field 55; empty without a command. */
  readonly bytes: Buffer
  /** The number of the command in it. */
  readonly sent: readonly number[]
}

/**
 * Composes the command that an answer carries beside tag 91. It has a template and a number of its
 * own (tag 9F18), so that its result can be told. One that the HSM does not make is reported, and
 * the answer goes without a command, because it must not be lost.
 *
 * An answer has one command: the MAC of a second one continues that of the first by rules that
 * differ between schemes and are not public. The largest command fits into an answer.
 */
export async function composeCommands(
  { hsm, observe }: CommandComposer,
  chip: AnsweredChip,
  reported: ReportedCommands,
  cryptogram: ChipCryptogram,
): Promise<ComposedCommands> {
  const none = { bytes: Buffer.alloc(0), sent: [] }
  const [command] = listDueCommands(reported.waiting, reported.report)
  if (!command) return none
  try {
    const bytes = await composeTemplate(hsm, chip, command, cryptogram)
    return { bytes, sent: [command.number] }
  } catch (error) {
    observe.hsmFaulted(error)
    return none
  }
}

async function composeTemplate(
  hsm: CommandComposer['hsm'],
  chip: AnsweredChip,
  command: WaitingChipCommand,
  cryptogram: ChipCryptogram,
): Promise<Buffer> {
  const number = Buffer.alloc(4)
  number.writeUInt32BE(command.number)
  const made = await makeCommand(hsm, chip, command, cryptogram)
  const content = composeChipData([
    ['9F18', number],
    ['86', made],
  ])
  return composeChipData([[commandTemplates[command.command], content]])
}

/** CLA, INS, P1 and P2 of commands without data (EMV Book 3, 6.5). */
const headers = {
  unblock_pin: '84240000',
  block_application: '841E0000',
  unblock_application: '84180000',
  block_card: '84160000',
} as const satisfies Partial<Record<ChipCommandName, string>>

/** CLA and INS of PUT DATA; P1 and P2 are the tag. */
const putDataHeader = '04DA'

function makeCommand(
  hsm: CommandComposer['hsm'],
  { keyVersion, ...chip }: AnsweredChip,
  { command, dataObject, pinBlock, pinKey }: WaitingChipCommand,
  cryptogram: ChipCryptogram,
): Promise<Uint8Array> {
  const keys: ScriptKeys = {
    ac: `chip-ac/${keyVersion}`,
    smc: `chip-smc/${keyVersion}`,
    smi: `chip-smi/${keyVersion}`,
  }
  if (command === 'change_pin') {
    if (pinBlock === null || pinKey === null) throw new Error('A change of a PIN has no PIN.')
    const pin = { pinBlock: Buffer.from(pinBlock, 'hex'), pvv: null, pinKey }
    return hsm.makePinChange(chip, keys, cryptogram, pin)
  }
  if (command === 'put_data') {
    const object = Buffer.from(dataObject ?? '', 'hex')
    const header = Buffer.concat([Buffer.from(putDataHeader, 'hex'), object.subarray(0, 2)])
    return hsm.makeCommand(chip, keys, cryptogram, header, object.subarray(2))
  }
  const header = Buffer.from(headers[command], 'hex')
  return hsm.makeCommand(chip, keys, cryptogram, header, Buffer.alloc(0))
}

/** The dependencies of recording results. */
interface ResultRecorder {
  readonly database: Database
  readonly observe: { chipResultsLost(error: unknown): void }
}

/** A message of a chip whose results are recorded. */
export interface ReportedChip extends ReportedCommands {
  readonly publicToken: PublicToken
  /** Null if the message does not say it, or if its own commit records it. */
  readonly remainingOfflineTries: number | null
}

/**
 * Records what a message and its answer changed: commands that were sent, done or failed, and the
 * tries that remain in the chip. It comes after the commit of the answer. If it fails, the failure
 * is reported and the answer stands: the commands are sent again.
 * @param sent the numbers of the commands in the answer.
 */
export async function recordChipResults(
  { database, observe }: ResultRecorder,
  { publicToken, remainingOfflineTries, report, waiting }: ReportedChip,
  sent: readonly number[],
): Promise<void> {
  const ended = findEndedCommands(waiting, report)
  const isChanged =
    [sent, ...Object.values(ended)].flat().length > 0 || remainingOfflineTries !== null
  if (!isChanged) return
  const { atc, panSequenceNumber } = report
  const results = { publicToken, panSequenceNumber, atc, sent, ...ended, remainingOfflineTries }
  await storedCommands
    .recordChipResults(database, results)
    .catch((error: unknown) => observe.chipResultsLost(error))
}
