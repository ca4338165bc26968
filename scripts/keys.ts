/**
 * `npm run keys -- <command>`: the life of the keys of this installation. `npm run keys -- --help` says
 * what there is.
 */
import { ConfigError, readConfig } from '../src/config.ts'
import { parseCommand } from './keys/command.ts'
import { reach, Unreachable } from './keys/reach.ts'
import { refuseUnknownVerb, runCommand } from './keys/run-command.ts'
import { UsageError, usage } from './keys/usage.ts'

process.exitCode = await main(process.argv.slice(2))

async function main(words: readonly string[]): Promise<number> {
  try {
    const command = parseCommand(words)
    if (command.verb === 'help') {
      console.log(usage)
      return 0
    }
    refuseUnknownVerb(command)
    const { ask, close } = await reach(readConfig(), command.options)
    try {
      const { json, text } = await runCommand(ask, command)
      console.log(command.options.json ? JSON.stringify(json, null, 2) : text)
    } finally {
      await close()
    }
    return 0
  } catch (error) {
    console.error(error instanceof Error ? error.message : String(error))
    if (error instanceof UsageError) console.error('\nnpm run keys -- --help says what there is.')
    return exitCodeOf(error)
  }
}

function exitCodeOf(error: unknown): number {
  if (error instanceof UsageError) return 2
  return error instanceof Unreachable || error instanceof ConfigError ? 3 : 1
}
