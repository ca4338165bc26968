import { StartRefusal } from '../domain/problem.ts'
import { ConfigError } from '../service/config/config.ts'
import {
  type Command,
  commonOptions,
  type Option,
  type Options,
  parseCall,
  Refused,
  Unreachable,
  UsageError,
} from './command.ts'
import { cardCommands, simulateCommand } from './commands/cards.ts'
import { clientCommands } from './commands/clients.ts'
import { eventsCommand } from './commands/events.ts'
import { productCommands } from './commands/products.ts'
import { doctorCommand, migrateCommand, startCommand } from './commands/service.ts'
import { zoneCommands } from './commands/zones.ts'

/** Runs what was typed after `pinfold`. @returns the exit code. */
async function runPinfold(commands: readonly Command[], words: readonly string[]): Promise<number> {
  try {
    const help = helpAsked(commands, words)
    if (help !== null) {
      console.log(help)
      return exitCodes.done
    }
    return await run(commands, words)
  } catch (error) {
    return failed(error, words.includes('--json'))
  }
}

async function run(commands: readonly Command[], words: readonly string[]): Promise<number> {
  const { command, rest } = find(commands, words)
  const told = await command.run(hinting(command, rest))
  if (told === null) return exitCodes.done
  console.log(rest.includes('--json') ? JSON.stringify(told.json, null, 2) : told.text)
  return told.exitCode ?? exitCodes.done
}

const hinting = (command: Command, rest: readonly string[]) => {
  try {
    return parseCall(command, rest)
  } catch (error) {
    if (error instanceof UsageError) {
      error.message += `\n\npinfold ${command.words} --help says how it is used.`
    }
    throw error
  }
}

function helpAsked(commands: readonly Command[], words: readonly string[]): string | null {
  const named = words.filter((word) => !word.startsWith('-'))
  const isAsked = words.some((word) => word === '--help' || word === '-h')
  if (named.length === 0 || (named[0] === 'help' && named.length === 1)) {
    return words.length === 0 || isAsked || named.length === 1 ? helpOfAll(commands) : null
  }
  const group = commands.filter(({ words: name }) => name.startsWith(`${named[0]} `))
  if (named.length === 1 && group.length > 0) return helpOfGroup(named[0] ?? '', group)
  return isAsked ? helpOf(find(commands, words).command) : null
}

/** The command whose words come first. @throws UsageError where there is none. */
function find(commands: readonly Command[], words: readonly string[]) {
  const named = words.filter((word) => !word.startsWith('-'))
  const command = commands.find(({ words: name }) => {
    const due = name.split(' ')
    return due.every((word, at) => named[at] === word)
  })
  if (command) return { command, rest: without(words, command.words.split(' ')) }
  const typed = named.slice(0, 2).join(' ')
  throw new UsageError(`There is no command ${typed || words[0]}. pinfold --help lists them.`)
}

/** The words that were typed, without those that named the command. */
function without(words: readonly string[], names: readonly string[]): string[] {
  const left = [...names]
  return words.filter((word) => {
    if (word !== left[0]) return true
    left.shift()
    return false
  })
}

/** Commands that are programs of their own: `bin/pinfold.mjs` starts them. */
const elsewhere: readonly (readonly [string, string])[] = [
  ['demo', 'the whole journey over HTTP, each request and answer shown'],
  ['keys …', 'the life of keys: list, rotate, import, retire (pinfold keys --help)'],
]

/** What `pinfold --help` says. */
function helpOfAll(commands: readonly Command[]): string {
  const lines = [...commands.map((command) => [synopsisOf(command), command.summary]), ...elsewhere]
  return `Pinfold, a card-issuing core.

${inColumns(lines)}

pinfold COMMAND --help says more of each, with an example.

Commands go to the server that runs on DATA_DIR, or on the database that DATABASE_URL names; where none
runs, they open the service themselves for as long as they take. PINFOLD_URL and PINFOLD_PRIVATE_URL name
a server elsewhere. They call as the sandbox's own clients, or as PINFOLD_CLIENT_ID with
PINFOLD_JWK_FILE or PINFOLD_CLIENT_SECRET.

Answers are on standard output, all else on standard error. Every command takes --json.
Exit codes: 0 done, 1 refused or faults found, 2 not understood, 3 no server reached and none opened.`
}

/** What `pinfold products --help` says. */
const helpOfGroup = (group: string, commands: readonly Command[]): string => `pinfold ${group}

${inColumns(commands.map((command) => [synopsisOf(command), command.summary]))}

pinfold COMMAND --help says more of each, with an example.`

/** What the help of one command says. */
function helpOf(command: Command): string {
  const own = command.options ? `\n${inColumns(linesOf(command.options))}\n` : ''
  return `pinfold ${synopsisOf(command)}${command.options ? ' [options]' : ''}

  ${command.summary}
${command.description ? `\n${indented(command.description)}\n` : ''}${own}
${inColumns(linesOf(commonOptions))}

  Example:
    ${command.example}`
}

const synopsisOf = ({ names = [], words }: Command): string => [words, ...names].join(' ')

const linesOf = (options: Options): (readonly [string, string])[] =>
  Object.entries(options).map(([name, option]) => [flagOf(name, option), option.help])

const flagOf = (name: string, { value }: Option): string =>
  value === undefined ? `--${name}` : `--${name} ${value}`

function inColumns(lines: readonly (readonly string[])[]): string {
  const width = Math.max(...lines.map(([left = '']) => left.length))
  return lines.map(([left = '', right = '']) => `  ${left.padEnd(width)}  ${right}`).join('\n')
}

const indented = (text: string): string => text.replaceAll(/^/gm, '  ')

/** What a command ends with. */
export const exitCodes = { done: 0, refused: 1, notUnderstood: 2, unreachable: 3 } as const

/**
 * Says why a command came to nothing: to people on standard error, to programs on standard output, too.
 * @returns the exit code.
 */
export function failed(error: unknown, isJson: boolean): number {
  const message = messageOf(error)
  console.error(message)
  if (isJson) console.log(JSON.stringify({ error: documentOf(error, message) }, null, 2))
  if (error instanceof UsageError) return exitCodes.notUnderstood
  return isUnreachable(error) ? exitCodes.unreachable : exitCodes.refused
}

const messageOf = (error: unknown): string =>
  error instanceof Error ? error.message : String(error)

const isUnreachable = (error: unknown): boolean =>
  error instanceof Unreachable || error instanceof ConfigError || error instanceof StartRefusal

function documentOf(error: unknown, message: string): object {
  if (error instanceof Refused) return { status: error.status, ...error.problem }
  if (error instanceof UsageError) return { code: 'not_understood', detail: message }
  return { code: isUnreachable(error) ? 'unreachable' : 'failed', detail: message }
}

/** Every command of this room, in the order of the help. */
export const commands: readonly Command[] = [
  startCommand,
  doctorCommand,
  migrateCommand,
  ...productCommands,
  ...clientCommands,
  ...zoneCommands,
  ...cardCommands,
  simulateCommand,
  eventsCommand,
]

/** `pinfold COMMAND`: `pinfold --help` says what there is. */

// Whoever reads only the beginning (`| head`) closes the pipe.
process.stdout.on('error', () => process.exit())
process.exitCode = await runPinfold(commands, process.argv.slice(2))
