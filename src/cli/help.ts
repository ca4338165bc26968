import * as cli from './command.ts'

/** Commands of one subject, in the overview. */
export interface CommandGroup {
  readonly title: string
  readonly commands: readonly ListedCommand[]
}

/** The members of a command that the overview shows. */
export type ListedCommand = Pick<cli.Command, 'words' | 'names' | 'summary'>

/** The eight commands that a new user needs first, in the order of use. */
const firstCommands = [
  'init',
  'start',
  'demo',
  'doctor',
  'cards create',
  'simulate',
  'events follow',
  'webhooks listen',
]

const more = 'pinfold COMMAND --help describes each command, with an example.'

/** Composes `pinfold --help`. */
export function composeOverview(groups: readonly CommandGroup[]): string {
  const all = groups.flatMap(({ commands }) => commands)
  const first = firstCommands.flatMap((words) => all.filter((command) => command.words === words))
  const rest = groups
    .map(({ commands, title }) => ({
      title,
      commands: commands.filter((command) => !first.includes(command)),
    }))
    .filter(({ commands }) => commands.length > 0)
  const width = Math.max(...all.map((command) => composeSynopsis(command).length))
  const sections = [{ title: 'First commands', commands: first }, ...rest].map(
    ({ commands, title }) => `${title}\n${summaries(commands, width)}`,
  )
  return `Pinfold, a card-issuing core.

${sections.join('\n\n')}

${more}
pinfold --version prints the version.

Commands call the server that runs on DATA_DIR, or on the database that DATABASE_URL names. If none
runs, they open the service themselves and close it at the end. PINFOLD_URL and PINFOLD_PRIVATE_URL
name a remote server. Commands call as the clients of the sandbox, as PINFOLD_CLIENT_ID with
PINFOLD_JWK_FILE or PINFOLD_CLIENT_SECRET, or, with --as-person, as the operator who signed in by
pinfold sign-in.

Answers go to standard output, messages to standard error. Every command accepts --json.
Exit codes: 0 done, 1 refused or faults found, 2 invalid command, 3 no server reached and none could
be opened, 4 waiting for the approval of another operator.`
}

/** Composes `pinfold NOUN`: the commands of that noun. */
export const composeGroupHelp = (noun: string, commands: readonly ListedCommand[]): string =>
  `pinfold ${noun}\n\n${summaries(commands)}\n\n${more}`

/** Composes the help of one command. */
export function composeHelp(command: cli.Command): string {
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

const summaries = (commands: readonly ListedCommand[], width?: number): string =>
  inColumns(
    commands.map((command) => [composeSynopsis(command), command.summary]),
    width,
  )

const composeSynopsis = ({ names = [], words }: ListedCommand): string =>
  [words, ...names].join(' ')

const optionLines = (options: cli.Options): string =>
  inColumns(
    Object.entries(options).map(([name, { help, value }]) => [
      value === undefined ? `--${name}` : `--${name} ${value}`,
      help,
    ]),
  )

function inColumns(
  lines: readonly (readonly [string, string])[],
  width = Math.max(...lines.map(([left]) => left.length)),
): string {
  return lines.map(([left, right]) => `  ${left.padEnd(width)}  ${right}`).join('\n')
}
