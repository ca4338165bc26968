import { commandResultCodes, commandResultLength } from '../../domain/chip-command.ts'

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

/** Counts the commands that were executed, and those that failed. */
export function summarizeResults(results: Uint8Array): {
  readonly processed: number
  readonly failed: number
} {
  const firsts = Array.from(results).filter((_, at) => at % commandResultLength === 0)
  const count = (code: number): number => firsts.filter((first) => first >> 4 === code).length
  return { processed: count(commandResultCodes.done), failed: count(commandResultCodes.failed) }
}
