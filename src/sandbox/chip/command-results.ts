/** The result of a command in an answer. */
type CommandResult = 'done' | 'failed' | 'not_carried_out'

/** A command that a chip was given. */
export interface CarriedCommand {
  /** The issuer's number of it (tag 9F18). */
  readonly number: number
  readonly result: CommandResult
}

/** The high half of the first byte of a result (EMV Book 4, annex A5; tag 9F5B). */
const codes: Readonly<Record<CommandResult, number>> = {
  not_carried_out: 0x00,
  failed: 0x10,
  done: 0x20,
}
const resultLength = 5

/** Composes the results of commands (tag 9F5B): five bytes for each one. */
export const composeResults = (commands: readonly CarriedCommand[]): Buffer =>
  Buffer.concat(
    commands.map(({ number, result }) => {
      const bytes = Buffer.alloc(resultLength)
      bytes.writeUInt8(codes[result])
      bytes.writeUInt32BE(number, 1)
      return bytes
    }),
  )

/** Counts the commands that were executed, and those that failed. */
export function summarizeResults(results: Uint8Array): {
  readonly processed: number
  readonly failed: number
} {
  const firsts = Array.from(results).filter((_, at) => at % resultLength === 0)
  const count = (code: number): number => firsts.filter((first) => first === code).length
  return { processed: count(codes.done), failed: count(codes.failed) }
}
