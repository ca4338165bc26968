/**
 * `pinfold demo` (`npm run demo`): runs all scenarios over HTTP, against the sandbox on `DATA_DIR`,
 * or one that is started for it and stopped again. Exits with 1 if an answer does not match the
 * specification.
 */

import { exitCodes } from '../src/cli/command.ts'
import { terminalCommand } from '../src/cli/commands/terminal.ts'
import { endWithOutput } from '../src/cli/output.ts'
import { printStart } from './demo/narrator.ts'
import { runDemo } from './demo/run-demo.ts'
import { scenarios } from './demo/scenarios.ts'
import { findServer } from './demo/server.ts'

const help = `pinfold demo [--json]

  The whole journey over HTTP: cards, PIN, CVV, tries, and what keeps clients apart. Each request and
  answer is shown; with --json one line for each step. It uses the sandbox that runs on DATA_DIR, or
  starts one and stops it again. Exits with 1 if an answer is not what the specification says.

  Example:
    pinfold demo`

// Stops a server that was started for the demo, however this process ends.
endWithOutput(exitCodes.refused)

if (process.argv.includes('--help')) console.log(help)
else await playJourney()

async function playJourney(): Promise<void> {
  try {
    const { isOwn, sandbox, stop } = await findServer()
    try {
      printStart(sandbox.baseUrl, isOwn)
      if (!(await runDemo(sandbox, scenarios))) process.exitCode = 1
      if (sandbox.link) await playTerminal()
    } finally {
      await stop()
    }
  } catch (error) {
    console.error(describeReason(error))
    process.exitCode = 1
  }
}

/** Shows the same card core over ISO 8583, as `pinfold terminal` does, without the fields. */
async function playTerminal(): Promise<void> {
  const outcome = await terminalCommand.run({ names: [], options: { json: true } })
  if (outcome?.exitCode) process.exitCode = 1
  const isJson = process.argv.includes('--json')
  const shown = isJson
    ? JSON.stringify(outcome?.json)
    : `On the wire of card networks (ISO 8583)\n\n${outcome?.text}`
  console.log(shown)
}

/** Returns the cause, since `fetch failed` alone is no explanation. */
function describeReason(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  return error.cause instanceof Error ? `${error.message}: ${error.cause.message}` : error.message
}
