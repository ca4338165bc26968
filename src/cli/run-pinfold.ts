import { UsageError } from './cli-error.ts'
import { type Command, parseCall } from './command.ts'
import { exitCodes, failed } from './failed.ts'
import { helpOf, helpOfAll, helpOfGroup } from './help.ts'

/** Runs what was typed after `pinfold`. @returns the exit code. */
export async function runPinfold(
  commands: readonly Command[],
  words: readonly string[],
): Promise<number> {
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
