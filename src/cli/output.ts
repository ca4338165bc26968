import { styleText } from 'node:util'
import { escapeLine, escapeText } from '../domain/terminal-text.ts'
import type { Colours } from './command.ts'

/**
 * Prints an answer on standard output. All that the command line prints goes through this function
 * and the next: whatever text of a service, a folder or a peer is in it, no control character
 * reaches the terminal.
 */
export const print = (text: string, colours: Colours = {}): void =>
  console.log(paint(escapeText(text), colours))

/** Prints what is said beside the answer on standard error. */
export const printBeside = (text: string): void => console.error(escapeText(text))

/**
 * From here on the process ends where standard output cannot be written: with an exit code, and a
 * sentence that says why, unless the reader closed the pipe, as `| head` does when it has read
 * enough.
 */
export function endWithOutput(exitCode: number): void {
  process.stdout.on('error', ({ code, message }: NodeJS.ErrnoException) => {
    if (code === 'EPIPE') process.exit()
    printBeside(`Standard output cannot be written (${code ?? message}): the answer is incomplete.`)
    process.exit(exitCode)
  })
  // What cannot be said beside the answer changes nothing of it.
  process.stderr.on('error', () => undefined)
}

/** Prints a prompt on standard error and leaves the cursor behind it. */
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
 * A line whose parts are foreign: none of them can end it and begin another. It is for every line
 * in which a text of a service, a folder or a peer stands beside the program's own words.
 */
export const line = (words: TemplateStringsArray, ...parts: readonly unknown[]): string =>
  String.raw({ raw: words }, ...parts.map((part) => escapeLine(String(part))))

/** Rows in columns, for a person, under their names. */
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

/** The members of one record, one a line. */
export function sheet(record: object): string {
  const entries = Object.entries(record).map(([name, value]) => [escapeLine(name), value] as const)
  const width = Math.max(...entries.map(([name]) => name.length))
  return entries.map(([name, value]) => `${name.padEnd(width)}  ${formatCell(value)}`).join('\n')
}

function formatCell(value: unknown): string {
  if (value === null || value === undefined) return ''
  if (typeof value === 'boolean') return value ? 'yes' : 'no'
  if (Array.isArray(value)) return value.map(formatCell).join(',')
  return escapeLine(typeof value === 'object' ? JSON.stringify(value) : String(value))
}

/**
 * Shows how far long work is, on standard error: one line that changes on a terminal, else new
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
