import { readFile } from 'node:fs/promises'
import { findNearestName } from '../domain/nearest-name.ts'
import { StartRefusal } from '../domain/problem.ts'
import { ConfigError } from '../service/config/config.ts'
import * as cli from './command.ts'
import { approvalCommands } from './commands/approvals.ts'
import { auditCommands } from './commands/audit.ts'
import { auditLogCommands } from './commands/audit-logs.ts'
import { authorizationCommands } from './commands/authorizations.ts'
import { bureauCommands, plasticCommands } from './commands/bureau.ts'
import { historyCommands } from './commands/card-history.ts'
import { replacementCommands } from './commands/card-replacements.ts'
import { cardCommands } from './commands/cards.ts'
import { chipCommands } from './commands/chips.ts'
import { clientCommands } from './commands/clients.ts'
import { createCompletionCommand } from './commands/completion.ts'
import { controlCommands, productControlCommands } from './commands/controls.ts'
import { decisionCommands } from './commands/decisions.ts'
import { doctorCommand } from './commands/doctor.ts'
import { eventListCommand, eventsCommand } from './commands/events.ts'
import { initCommand } from './commands/init.ts'
import { keyCommands } from './commands/keys.ts'
import { linkCommands } from './commands/links.ts'
import { paymentCommands } from './commands/payments.ts'
import { cvvCommands, pinCommands } from './commands/pins.ts'
import { productCommands } from './commands/products.ts'
import { renewalJobCommands } from './commands/renewal-jobs.ts'
import { renewalCommands } from './commands/renewals.ts'
import { sandboxCommands } from './commands/sandbox.ts'
import { scenarioCommand } from './commands/scenario.ts'
import { migrateCommand, prepareClusterCommand, startCommand } from './commands/service.ts'
import { signInCommand } from './commands/sign-in.ts'
import { simulateCommand } from './commands/simulate.ts'
import { terminalCommand } from './commands/terminal.ts'
import { triggerCommand } from './commands/trigger.ts'
import { webhookCommand } from './commands/webhooks.ts'
import { witnessCommand } from './commands/witness.ts'
import { zoneCommands } from './commands/zones.ts'
import { type CommandGroup, composeGroupHelp, composeHelp, composeOverview } from './help.ts'
import { endWithOutput, print, printBeside } from './output.ts'

/** A separate program (`scripts/demo.ts`), which the launcher starts. */
const demo: cli.Command = {
  words: 'demo',
  summary: 'runs the whole journey over HTTP, and shows each request and answer',
  connection: [],
  example: 'pinfold demo',
  run: async () => {
    throw new cli.UsageError('demo must be the first word after pinfold.')
  },
}

const completionCommand = createCompletionCommand(() => [...commands, demo])

const groups = [
  {
    title: 'Service',
    commands: [
      initCommand,
      startCommand,
      doctorCommand,
      migrateCommand,
      prepareClusterCommand,
      completionCommand,
    ],
  },
  {
    title: 'Cards',
    commands: [
      ...cardCommands,
      ...replacementCommands,
      ...historyCommands,
      ...renewalCommands,
      ...renewalJobCommands,
      ...controlCommands,
      ...pinCommands,
      ...chipCommands,
      ...plasticCommands,
      ...bureauCommands,
      ...cvvCommands,
      ...authorizationCommands,
      ...paymentCommands,
      ...decisionCommands,
    ],
  },
  { title: 'Events', commands: [eventsCommand, eventListCommand, triggerCommand, webhookCommand] },
  { title: 'Card networks', commands: [simulateCommand, terminalCommand, ...linkCommands] },
  { title: 'Sandbox', commands: [...sandboxCommands, scenarioCommand] },
  {
    title: 'Products and clients',
    commands: [...productCommands, ...productControlCommands, ...clientCommands],
  },
  { title: 'Keys and zones', commands: [...keyCommands, ...zoneCommands] },
  { title: 'Operators', commands: [signInCommand, ...approvalCommands] },
  { title: 'Audit log', commands: [...auditCommands, ...auditLogCommands, witnessCommand] },
] as const satisfies readonly CommandGroup[]

/** All commands, in the order of the help. */
export const commands: readonly cli.Command[] = groups.flatMap(({ commands }) => [...commands])

const overview = (): string => {
  const [service, ...others] = groups
  return composeOverview([{ ...service, commands: [...service.commands, demo] }, ...others])
}

/** Runs the arguments of `pinfold`. @returns the exit code. */
export async function runPinfold(words: readonly string[]): Promise<number> {
  let typed: cli.Command | null = null
  try {
    if (words[0] === '--version') {
      print(await readVersion())
      return cli.exitCodes.done
    }
    const help = helpAsked(words)
    if (help !== null) {
      print(help)
      return cli.exitCodes.done
    }
    const { command, rest } = find(words)
    typed = command
    const outcome = await runCommand(command, rest)
    if (outcome === null) return cli.exitCodes.done
    if (rest.includes('--json')) print(JSON.stringify(outcome.json, null, 2))
    else print(outcome.text, outcome.colours)
    return outcome.exitCode ?? cli.exitCodes.done
  } catch (error) {
    if (error instanceof cli.Waiting) {
      printBeside(error.message)
      if (words.includes('--json')) print(JSON.stringify(error.approval, null, 2))
      return cli.exitCodes.waiting
    }
    return reportFailure(error, typed, words)
  }
}

/** Finds a command and its arguments. @throws UsageError */
function find(words: readonly string[]): { command: cli.Command; rest: readonly string[] } {
  const named = words.filter((word) => !word.startsWith('-'))
  const command = commands.find(({ words: name }) =>
    name.split(' ').every((word, at) => named[at] === word),
  )
  if (!command) {
    if (named.length > 0 && words[0]?.startsWith('-')) {
      throw new cli.UsageError(
        'Options follow the command, as in pinfold cards list --limit 10. pinfold --help lists ' +
          'the commands.',
      )
    }
    throw new cli.UsageError(describeUnknownCommand(named.length === 0 ? words : named))
  }
  const names = command.words.split(' ')
  const rest = words.filter((word) => {
    const isName = word === names[0]
    if (isName) names.shift()
    return !isName
  })
  return { command, rest }
}

/** Names the nearest command: of the typed noun if there is such a noun, otherwise of all. */
function describeUnknownCommand(typed: readonly string[]): string {
  const [noun = ''] = typed
  const group = listGroup(noun)
  const known = group.length > 0 ? group : commands.map(({ words }) => words)
  const two = typed.slice(0, 2).join(' ')
  const name = listGroup(two).length > 0 ? typed.slice(0, 3).join(' ') : two
  const nouns = known.map((words) => words.split(' ')[0] ?? '')
  const others = group.length > 0 ? [] : [...known, ...nouns, 'demo']
  const nearest = findNearestName(name, known) ?? findNearestName(noun, others)
  const hint = nearest === null ? '' : ` Did you mean pinfold ${nearest}?`
  const help = group.length > 0 ? `pinfold ${noun} --help` : 'pinfold --help'
  return `The command ${name} does not exist.${hint} ${help} lists the commands.`
}

/** Lists the commands that begin with these words and continue. */
const listGroup = (first: string): readonly string[] =>
  commands.map(({ words }) => words).filter((words) => words.startsWith(`${first} `))

/** Runs a command. A malformed command line also names the help of the command. */
async function runCommand(command: cli.Command, rest: readonly string[]) {
  let isParsed = false
  try {
    const call = cli.parseCall(command, rest)
    isParsed = true
    return await command.run(call)
  } catch (error) {
    if (error instanceof cli.MissingOptions || (error instanceof cli.UsageError && !isParsed)) {
      error.message += `\n\nRun pinfold ${command.words} --help for its usage.`
    }
    throw error
  }
}

/**
 * Reports a failure to people on standard error, and to programs also on standard output.
 * @returns the exit code.
 */
function reportFailure(
  error: unknown,
  command: cli.Command | null,
  words: readonly string[],
): number {
  const detail = error instanceof Error ? error.message : String(error)
  const isUnreachable = [cli.Unreachable, ConfigError, StartRefusal].some(
    (kind) => error instanceof kind,
  )
  const code = isUnreachable ? 'unreachable' : 'failed'
  const isRefusal = error instanceof cli.Refused && command !== null
  printBeside(isRefusal ? cli.describeRefusal(error, command, words) : detail)
  const describe = (): object => {
    if (error instanceof cli.Refused) return { status: error.status, ...error.problem }
    return { code: error instanceof cli.UsageError ? 'not_understood' : code, detail }
  }
  if (words.includes('--json')) print(JSON.stringify({ error: describe() }, null, 2))
  if (error instanceof cli.UsageError) return cli.exitCodes.notUnderstood
  return isUnreachable ? cli.exitCodes.unreachable : cli.exitCodes.refused
}

/** Returns the requested help; null if none was requested. */
function helpAsked(words: readonly string[]): string | null {
  const named = words.filter((word) => !word.startsWith('-'))
  const isAsked = words.some((word) => word === '--help' || word === '-h')
  if (named.length === 0 || (named[0] === 'help' && named.length === 1)) {
    return words.length === 0 || isAsked || named.length === 1 ? overview() : null
  }
  const first = named.join(' ')
  const group = commands.filter(({ words: name }) => name.startsWith(`${first} `))
  if (group.length > 0) return composeGroupHelp(first, group)
  return isAsked ? composeHelp(find(words).command) : null
}

/** Reads the version of this program from its package. */
async function readVersion(): Promise<string> {
  const text = await readFile(new URL('../../package.json', import.meta.url), 'utf8')
  return String(JSON.parse(text).version)
}

// The launcher runs this file in its own process under a supported version of Node.
if (import.meta.main || process.argv[1] === import.meta.filename) {
  endWithOutput(cli.exitCodes.refused)
  process.exitCode = await runPinfold(process.argv.slice(2))
}
