import { styleText } from 'node:util'
import { escapeLine, escapeText } from '../domain/terminal-text.ts'
import type { Colours } from './command.ts'

/**
 * Prints an answer on standard output. The command line prints only through this function and the
 * next one, so that no control character in foreign text reaches the terminal.
 */
export const print = (text: string, colours: Colours = {}): void =>
  console.log(paint(escapeText(text), colours))

/** Prints a message beside the answer on standard error. */
export const printBeside = (text: string): void => console.error(escapeText(text))

/**
 * Ends the process with an exit code when standard output cannot be written. It prints the reason
 * unless the reader closed the pipe, as `| head` does.
 */
export function endWithOutput(exitCode: number): void {
  process.stdout.on('error', ({ code, message }: NodeJS.ErrnoException) => {
    if (code === 'EPIPE') process.exit()
    printBeside(`Standard output cannot be written (${code ?? message}): the answer is incomplete.`)
    process.exit(exitCode)
  })
  // A failed message on standard error does not change the answer.
  process.stderr.on('error', () => undefined)
}

/** Prints a prompt on standard error and leaves the cursor after it. */
export const printPrompt = (text: string): void => {
  process.stderr.write(`${escapeLine(text)}: `)
}

function paint(text: string, colours: Colours): string {
  const words = Object.keys(colours)
  if (words.length === 0) return text
  const atBeginning = new RegExp(`^(?:${words.join('|')})`, 'gm')
  return text.replaceAll(atBeginning, (word) => styleText(colours[word] ?? 'red', word))
}

/**
 * Composes a line with foreign parts, which cannot end the line. For every line that contains text
 * of a service, a folder or a peer beside the program's own.
 */
export const line = (words: TemplateStringsArray, ...parts: readonly unknown[]): string =>
  String.raw({ raw: words }, ...parts.map((part) => escapeLine(String(part))))

/** Formats rows in columns under their names, for people. */
export function table(columns: readonly string[], rows: readonly (readonly unknown[])[]): string {
  if (rows.length === 0) return 'No entries.'
  const lines = [columns, ...rows.map((row) => row.map(formatCell))]
  const widths = columns.map((_, at) => Math.max(...lines.map((cells) => cells[at]?.length ?? 0)))
  return lines
    .map((cells) =>
      cells
        .map((cell, at) => cell.padEnd(widths[at] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}

/** `1 try left`, `3 tries left`. */
export const formatTries = (remaining: number): string =>
  `${remaining} ${remaining === 1 ? 'try' : 'tries'} left`

/** Formats the members of one record, one per line: those of `renewal` as `renewal.expiryDate`. */
export function sheet(record: object): string {
  const entries = listMembers(record).map(([name, value]) => [escapeLine(name), value] as const)
  const width = Math.max(...entries.map(([name]) => name.length))
  return entries
    .map(([name, value]) => `${name.padEnd(width)}  ${formatCell(value)}`.trimEnd())
    .join('\n')
}

/** Lists the members of a record, and those of the records in it by their path. */
function listMembers(record: object, path = ''): (readonly [name: string, value: unknown])[] {
  return Object.entries(record).flatMap(([name, value]) => {
    const isRecord = typeof value === 'object' && value !== null && !Array.isArray(value)
    if (!isRecord) return [[path + name, value] as const]
    const members = listMembers(value, `${path}${name}.`)
    return members.length > 0 ? members : [[path + name, null] as const]
  })
}

function formatCell(value: unknown): string {
  if (value === null || value === undefined) return ''
  if (typeof value === 'boolean') return value ? 'yes' : 'no'
  if (Array.isArray(value)) return value.map(formatCell).join(',')
  return escapeLine(typeof value === 'object' ? JSON.stringify(value) : String(value))
}

/**
 * Shows the progress of long work on standard error: one changing line on a terminal, otherwise new
 * lines.
 */
export function createProgress(): { show(line: string): void; end(): void } {
  const { stderr } = process
  let last = ''
  return {
    show(next) {
      const shown = escapeLine(next)
      if (shown === last) return
      last = shown
      stderr.write(stderr.isTTY ? `\r\u001b[2K${shown}` : `${shown}\n`)
    },
    end() {
      if (stderr.isTTY && last !== '') stderr.write('\r\u001b[2K')
    },
  }
}
