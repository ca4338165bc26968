import { UsageError } from '../src/cli/command.ts'
import { reach } from '../src/cli/connection/connection.ts'
import { failed } from '../src/cli/pinfold.ts'
import { parseCommand } from './keys/command.ts'
import { refuseUnknownVerb, runCommand } from './keys/run-command.ts'
import { usage } from './keys/usage.ts'

/**
 * `npm run keys -- <command>`: the life of the keys of this installation. `npm run keys -- --help` says
 * what there is.
 */

process.exitCode = await main(process.argv.slice(2))

async function main(words: readonly string[]): Promise<number> {
  const isJson = words.includes('--json')
  try {
    const command = parseCommand(words)
    if (command.verb === 'help') {
      console.log(usage)
      return 0
    }
    refuseUnknownVerb(command)
    const service = await reach(command.options, 'admin')
    try {
      const { json, text } = await runCommand(service, command)
      console.log(isJson ? JSON.stringify(json, null, 2) : text)
    } finally {
      await service.close()
    }
    return 0
  } catch (error) {
    if (error instanceof UsageError) error.message += '\n\npinfold keys --help says what there is.'
    return failed(error, isJson)
  }
}
