import * as cli from '../command.ts'

/** A possible next word and its description. */
interface Candidate {
  readonly word: string
  readonly help: string
}

/** The candidates after the words of a command. */
interface Place {
  readonly after: string
  readonly candidates: readonly Candidate[]
}

const shells = { bash: composeBash, zsh: composeZsh, fish: composeFish } as const
type Shell = keyof typeof shells

const isShell = (name: string): name is Shell => Object.hasOwn(shells, name)

/** @param listCommands every command; called when the command runs, since the list includes it. */
export const createCompletionCommand = (
  listCommands: () => readonly cli.Command[],
): cli.Command => ({
  words: 'completion',
  names: ['SHELL'],
  summary: 'prints a script that completes commands and options in bash, zsh or fish',
  description:
    'bash: eval "$(pinfold completion bash)" in ~/.bashrc.\n' +
    'zsh: pinfold completion zsh > a file _pinfold in a folder of fpath.\n' +
    'fish: pinfold completion fish > ~/.config/fish/completions/pinfold.fish.',
  connection: [],
  example: 'pinfold completion bash',
  async run({ names: [shell = ''] }) {
    if (!isShell(shell)) throw new cli.UsageError('SHELL must be bash, zsh or fish.')
    const script = shells[shell](listCommands())
    return { json: { shell, script }, text: script }
  },
})

function listFirstWords(commands: readonly cli.Command[]): readonly Candidate[] {
  const first = new Map<string, string>()
  for (const { summary, words } of commands) {
    const [noun = '', verb] = words.split(' ')
    const known = first.get(noun)
    const verbs = commands
      .filter((each) => each.words.startsWith(`${noun} `))
      .map((each) => each.words.split(' ')[1])
    if (known === undefined) first.set(noun, verb === undefined ? summary : verbs.join(', '))
  }
  return [...first].map(([word, help]) => ({ word, help }))
}

/** Places after the first word: verbs of a noun, and options of a command. */
function listPlaces(commands: readonly cli.Command[]): {
  readonly verbs: readonly Place[]
  /** Third words, after two. */
  readonly acts: readonly Place[]
  /** Options, after the one, two or three words of their command. */
  readonly options: Readonly<Record<'one' | 'two' | 'three', readonly Place[]>>
} {
  const nouns = new Set(
    commands.filter(({ words }) => words.includes(' ')).map(({ words }) => words.split(' ')[0]),
  )
  const verbs = [...nouns].map((noun = '') => ({
    after: noun,
    candidates: listNext(commands, noun),
  }))
  const groups = new Set(
    commands
      .map(({ words }) => words.split(' '))
      .filter((words) => words.length === 3)
      .map(([noun, group]) => `${noun} ${group}`),
  )
  const acts = [...groups].map((after) => ({ after, candidates: listNext(commands, after) }))
  const options = commands.map((command) => ({
    after: command.words,
    candidates: Object.entries(cli.listOptions(command)).map(([name, { help }]) => ({
      word: `--${name}`,
      help,
    })),
  }))
  const listAfter = (count: number) =>
    options.filter(({ after }) => after.split(' ').length === count)
  return { verbs, acts, options: { one: listAfter(1), two: listAfter(2), three: listAfter(3) } }
}

/** Lists the next words of commands that begin so, each once. */
function listNext(commands: readonly cli.Command[], after: string): Candidate[] {
  const next = new Map<string, string>()
  for (const { summary, words } of commands) {
    if (!words.startsWith(`${after} `)) continue
    const [word = ''] = words.slice(after.length + 1).split(' ')
    if (!next.has(word)) next.set(word, summary)
  }
  return [...next].map(([word, help]) => ({ word, help }))
}

const overviewOptions: readonly Candidate[] = [
  { word: '--help', help: 'lists the commands' },
  { word: '--version', help: 'prints the version' },
]

/** Quotes a text as one word of a shell. */
const quote = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`

const listWords = (candidates: readonly Candidate[]): string =>
  quote(candidates.map(({ word }) => word).join(' '))

function composeBash(commands: readonly cli.Command[]): string {
  const { acts, options, verbs } = listPlaces(commands)
  const arms = (places: readonly Place[]) =>
    places.map(({ after, candidates }) => `    ${quote(after)}) words=${listWords(candidates)} ;;`)
  return `# bash completion of pinfold
_pinfold() {
  local typed=\${COMP_WORDS[COMP_CWORD]} noun=\${COMP_WORDS[1]} verb=\${COMP_WORDS[2]}
  local act=\${COMP_WORDS[3]} words=
  case $COMP_CWORD in
    1) words=${listWords([...listFirstWords(commands), ...overviewOptions])} ;;
    2) case $noun in
${arms(verbs).join('\n')}
    esac ;;
    3) case "$noun $verb" in
${arms(acts).join('\n')}
    esac ;;
  esac
  if [[ $COMP_CWORD -ge 2 && $typed == -* ]]; then
    case $noun in
${arms(options.one).join('\n')}
    esac
    case "$noun $verb" in
${arms(options.two).join('\n')}
    esac
    case "$noun $verb $act" in
${arms(options.three).join('\n')}
    esac
  fi
  COMPREPLY=($(compgen -W "$words" -- "$typed"))
}
complete -o default -F _pinfold pinfold`
}

function composeZsh(commands: readonly cli.Command[]): string {
  const { acts, options, verbs } = listPlaces(commands)
  const list = (candidates: readonly Candidate[]) =>
    candidates.map(({ help, word }) => quote(`${word}:${help.replaceAll(':', '\\:')}`)).join(' ')
  const arms = (places: readonly Place[]) =>
    places.map(({ after, candidates }) => `    ${quote(after)}) found=(${list(candidates)}) ;;`)
  return `#compdef pinfold
_pinfold() {
  local -a found
  local typed=\${words[CURRENT]} noun=\${words[2]} verb=\${words[3]} act=\${words[4]}
  case $CURRENT in
    2) found=(${list([...listFirstWords(commands), ...overviewOptions])}) ;;
    3) case $noun in
${arms(verbs).join('\n')}
    esac ;;
    4) case "$noun $verb" in
${arms(acts).join('\n')}
    esac ;;
  esac
  if [[ $CURRENT -ge 3 && $typed == -* ]]; then
    case $noun in
${arms(options.one).join('\n')}
    esac
    case "$noun $verb" in
${arms(options.two).join('\n')}
    esac
    case "$noun $verb $act" in
${arms(options.three).join('\n')}
    esac
  fi
  if (( \${#found} )); then _describe pinfold found; else _files; fi
}
if [[ \${funcstack[1]} == _pinfold ]]; then _pinfold "$@"; else compdef _pinfold pinfold; fi`
}

function composeFish(commands: readonly cli.Command[]): string {
  const { acts, verbs } = listPlaces(commands)
  const seen = (word: string) => `__fish_seen_subcommand_from ${word}`
  const first = [...listFirstWords(commands)].map(
    ({ help, word }) =>
      `complete -c pinfold -f -n __fish_use_subcommand -a ${word} -d ${quoteFish(help)}`,
  )
  const second = verbs.flatMap(({ after, candidates }) => {
    const all = candidates.map(({ word }) => word).join(' ')
    const condition = quoteFish(`${seen(after)}; and not ${seen(all)}`)
    return candidates.map(
      ({ help, word }) => `complete -c pinfold -f -n ${condition} -a ${word} -d ${quoteFish(help)}`,
    )
  })
  const third = acts.flatMap(({ after, candidates }) => {
    const condition = quoteFish(after.split(' ').map(seen).join('; and '))
    return candidates.map(
      ({ help, word }) => `complete -c pinfold -f -n ${condition} -a ${word} -d ${quoteFish(help)}`,
    )
  })
  const options = commands.flatMap((command) => {
    const condition = quoteFish(command.words.split(' ').map(seen).join('; and '))
    return Object.entries(cli.listOptions(command)).map(([name, { help, type, value }]) => {
      const files = value === 'FILE' || value === 'FOLDER' ? ' -F' : ' -f'
      const parameter = type === 'string' ? ` -r${files}` : ''
      return `complete -c pinfold -n ${condition} -l ${name}${parameter} -d ${quoteFish(help)}`
    })
  })
  const version = 'complete -c pinfold -n __fish_use_subcommand -l version -d "prints the version"'
  return ['# fish completion of pinfold', ...first, ...second, ...third, version, ...options].join(
    '\n',
  )
}

/** A quoted word of fish has two escapes. */
const quoteFish = (text: string): string =>
  `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`
