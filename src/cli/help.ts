import { type Command, commonOptions, type Option, type Options } from './command.ts'

/** Commands that are programs of their own: `bin/pinfold.mjs` starts them. */
const elsewhere: readonly (readonly [string, string])[] = [
  ['demo', 'the whole journey over HTTP, each request and answer shown'],
  ['keys …', 'the life of keys: list, rotate, import, retire (pinfold keys --help)'],
]

/** What `pinfold --help` says. */
export function helpOfAll(commands: readonly Command[]): string {
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
export const helpOfGroup = (
  group: string,
  commands: readonly Command[],
): string => `pinfold ${group}

${inColumns(commands.map((command) => [synopsisOf(command), command.summary]))}

pinfold COMMAND --help says more of each, with an example.`

/** What the help of one command says. */
export function helpOf(command: Command): string {
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
