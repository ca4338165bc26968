/** `pinfold COMMAND`: `pinfold --help` says what there is. */
import { commands } from './commands/all.ts'
import { runPinfold } from './run-pinfold.ts'

// Whoever reads only the beginning (`| head`) closes the pipe.
process.stdout.on('error', () => process.exit())
process.exitCode = await runPinfold(commands, process.argv.slice(2))
