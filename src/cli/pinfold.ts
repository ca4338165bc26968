import { StartRefusal } from '../domain/problem.ts'
import { ConfigError } from '../service/config/config.ts'
import * as cli from './command.ts'
import { approvalCommands } from './commands/approvals.ts'
import { auditCommands } from './commands/audit.ts'
import { auditLogCommands } from './commands/audit-logs.ts'
import { cardCommands, simulateCommand } from './commands/cards.ts'
import { clientCommands } from './commands/clients.ts'
import { doctorCommand } from './commands/doctor.ts'
import { eventsCommand } from './commands/events.ts'
import { initCommand } from './commands/init.ts'
import { keyCommands } from './commands/keys.ts'
import { linkCommands } from './commands/links.ts'
import { productCommands } from './commands/products.ts'
import { migrateCommand, prepareClusterCommand, startCommand } from './commands/service.ts'
import { signInCommand } from './commands/sign-in.ts'
import { terminalCommand } from './commands/terminal.ts'
import { witnessCommand } from './commands/witness.ts'
import { zoneCommands } from './commands/zones.ts'
import { endWithOutput, print, printBeside } from './output.ts'

/** Every command, in the order of the help. */
export const commands: readonly cli.Command[] = [
  initCommand,
  startCommand,
  doctorCommand,
  migrateCommand,
  prepareClusterCommand,
  signInCommand,
  ...productCommands,
  ...clientCommands,
  ...zoneCommands,
  ...linkCommands,
  ...keyCommands,
  ...approvalCommands,
  ...cardCommands,
  simulateCommand,
  terminalCommand,
  eventsCommand,
  ...auditCommands,
  ...auditLogCommands,
  witnessCommand,
]

/** Runs what was typed after `pinfold`. @returns the exit code. */
export async function runPinfold(words: readonly string[]): Promise<number> {
  try {
    const help = helpAsked(words)
    if (help !== null) {
      print(help)
      return cli.exitCodes.done
    }
    const { command, rest } = find(words)
    const outcome = await command.run(parse(command, rest))
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
    return reportFailure(error, words.includes('--json'))
  }
}

/** The command whose words come first, and what was typed beside them. @throws UsageError */
function find(words: readonly string[]): { command: cli.Command; rest: readonly string[] } {
  const named = words.filter((word) => !word.startsWith('-'))
  const command = commands.find(({ words: name }) =>
    name.split(' ').every((word, at) => named[at] === word),
  )
  if (!command) {
    const typed = named.slice(0, 2).join(' ')
    throw new cli.UsageError(`There is no command ${typed || words[0]}. pinfold --help lists them.`)
  }
  const names = command.words.split(' ')
  const rest = words.filter((word) => {
    const isName = word === names[0]
    if (isName) names.shift()
    return !isName
  })
  return { command, rest }
}

function parse(command: cli.Command, rest: readonly string[]) {
  try {
    return cli.parseCall(command, rest)
  } catch (error) {
    if (error instanceof cli.UsageError) {
      error.message += `\n\npinfold ${command.words} --help says how it is used.`
    }
    throw error
  }
}

/**
 * Says why a command came to nothing: to people on standard error, to programs on standard output,
 * too.
 * @returns the exit code.
 */
function reportFailure(error: unknown, isJson: boolean): number {
  const detail = error instanceof Error ? error.message : String(error)
  const isUnreachable = [cli.Unreachable, ConfigError, StartRefusal].some(
    (kind) => error instanceof kind,
  )
  const code = isUnreachable ? 'unreachable' : 'failed'
  printBeside(detail)
  const describe = (): object => {
    if (error instanceof cli.Refused) return { status: error.status, ...error.problem }
    return { code: error instanceof cli.UsageError ? 'not_understood' : code, detail }
  }
  if (isJson) print(JSON.stringify({ error: describe() }, null, 2))
  if (error instanceof cli.UsageError) return cli.exitCodes.notUnderstood
  return isUnreachable ? cli.exitCodes.unreachable : cli.exitCodes.refused
}

/** The help that was asked for; null where none was. */
function helpAsked(words: readonly string[]): string | null {
  const named = words.filter((word) => !word.startsWith('-'))
  const isAsked = words.some((word) => word === '--help' || word === '-h')
  if (named.length === 0 || (named[0] === 'help' && named.length === 1)) {
    return words.length === 0 || isAsked || named.length === 1 ? composeOverview() : null
  }
  const group = commands.filter(({ words: name }) => name.startsWith(`${named[0]} `))
  if (named.length === 1 && group.length > 0) {
    return `pinfold ${named[0]}\n\n${summaries(group)}\n\n${more}`
  }
  return isAsked ? composeHelp(find(words).command) : null
}

const more = 'pinfold COMMAND --help says more of each, with an example.'

/** What `pinfold --help` says. */
const composeOverview = (): string => `Pinfold, a card-issuing core.

${summaries(commands)}
  demo  the whole journey over HTTP, each request and answer shown (pinfold demo --help)

${more}

Commands go to the server that runs on DATA_DIR, or on the database that DATABASE_URL names; where
none runs, they open the service themselves for as long as they take. PINFOLD_URL and
PINFOLD_PRIVATE_URL name a server elsewhere. They call as the sandbox's own clients, or as
PINFOLD_CLIENT_ID with PINFOLD_JWK_FILE or PINFOLD_CLIENT_SECRET, or, with --as-person, as who
signed in by pinfold sign-in.

Answers are on standard output, all else on standard error. Every command takes --json.
Exit codes: 0 done, 1 refused or faults found, 2 not understood, 3 no server answers and none could
be opened, 4 asked for, and waiting for another person.`

/** What the help of one command says. */
function composeHelp(command: cli.Command): string {
  const { description, example, options, summary } = command
  const paragraphs = [
    `pinfold ${composeSynopsis(command)}${options ? ' [options]' : ''}`,
    `  ${summary}`,
    description?.replaceAll(/^/gm, '  '),
    options && optionLines(options),
    optionLines(cli.listSharedOptions(command)),
    `  Example:\n    ${example}`,
  ]
  return paragraphs.filter((each) => each !== undefined).join('\n\n')
}

const summaries = (commands: readonly cli.Command[]): string =>
  inColumns(commands.map((command) => [composeSynopsis(command), command.summary]))

const composeSynopsis = ({ names = [], words }: cli.Command): string => [words, ...names].join(' ')

const optionLines = (options: cli.Options): string =>
  inColumns(
    Object.entries(options).map(([name, { help, value }]) => [
      value === undefined ? `--${name}` : `--${name} ${value}`,
      help,
    ]),
  )

function inColumns(lines: readonly (readonly [string, string])[]): string {
  const width = Math.max(...lines.map(([left]) => left.length))
  return lines.map(([left, right]) => `  ${left.padEnd(width)}  ${right}`).join('\n')
}

// The launcher runs this file in its own process where that is the right Node.
if (import.meta.main || process.argv[1] === import.meta.filename) {
  endWithOutput(cli.exitCodes.refused)
  process.exitCode = await runPinfold(process.argv.slice(2))
}
