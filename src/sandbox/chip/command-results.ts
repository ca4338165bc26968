import { commandResultCodes, commandResultLength } from '../../domain/chip-command.ts'
import type { ChipProfile } from '../../domain/chip-profile.ts'
import type { GivenCommand } from './issuer-answer.ts'

/** The result of a command in an answer. */
type CommandResult = keyof typeof commandResultCodes

/** A command that a chip was given. */
export interface CarriedCommand {
  /** The issuer's number of it (tag 9F18). */
  readonly number: number
  readonly result: CommandResult
}

/** Composes the results of commands (tag 9F5B): five bytes for each one. */
export const composeResults = (commands: readonly CarriedCommand[]): Buffer =>
  Buffer.concat(
    commands.map(({ number, result }) => {
      const bytes = Buffer.alloc(commandResultLength)
      bytes.writeUInt8(commandResultCodes[result] << 4)
      bytes.writeUInt32BE(number, 1)
      return bytes
    }),
  )

/** Whether a command of the last answer failed. */
export const hasFailedResult = (results: Uint8Array): boolean =>
  Array.from(results).some(
    (byte, at) => at % commandResultLength === 0 && byte >> 4 === commandResultCodes.failed,
  )

/** Counts the commands that were executed, as the verification results of the chip count them. */
export const countCommands = (
  { applicationData }: Pick<ChipProfile, 'applicationData'>,
  given: readonly GivenCommand[],
  carried: readonly CarriedCommand[],
): number =>
  given.filter(
    ({ template }, at) =>
      applicationData.commands.countedTemplates.includes(template) &&
      carried[at]?.result === 'done',
  ).length
