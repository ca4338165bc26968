/**
 * Runs several commands in one process, each as though it were the first there. Ends with the code
 * of the first that fails.
 */
import { Agent, setGlobalDispatcher } from 'undici'
import { runPinfold } from '../../src/cli/pinfold.ts'

for (const words of process.argv.slice(2)) {
  // What one presents itself with at its connections is not the next one's.
  setGlobalDispatcher(new Agent())
  process.exitCode = await runPinfold(words.split(' '))
  if (process.exitCode !== 0) break
}
