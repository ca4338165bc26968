import { readFile } from 'node:fs/promises'
import { UsageError } from './command.ts'

/** Rows in columns, for a person, under their names. */
export function table(columns: readonly string[], rows: readonly (readonly unknown[])[]): string {
  if (rows.length === 0) return 'There is none.'
  const lines = [columns, ...rows.map((row) => row.map(cellOf))]
  const widths = columns.map((_, at) => Math.max(...lines.map((line) => line[at]?.length ?? 0)))
  return lines
    .map((line) =>
      line
        .map((cell, at) => cell.padEnd(widths[at] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}

/** The members of one record, one a line. */
export function sheet(record: object): string {
  const entries = Object.entries(record)
  const width = Math.max(...entries.map(([name]) => name.length))
  return entries.map(([name, value]) => `${name.padEnd(width)}  ${cellOf(value)}`).join('\n')
}

function cellOf(value: unknown): string {
  if (value === null || value === undefined) return ''
  if (typeof value === 'boolean') return value ? 'yes' : 'no'
  if (Array.isArray(value)) return value.map(cellOf).join(',')
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}

/** Shows how far long work is, on standard error: one line that changes on a terminal, else new lines. */
export function createProgress(): { show(line: string): void; end(): void } {
  const { stderr } = process
  let last = ''
  return {
    show(line) {
      if (line === last) return
      last = line
      stderr.write(stderr.isTTY ? `\r\u001b[2K${line}` : `${line}\n`)
    },
    end() {
      if (stderr.isTTY && last !== '') stderr.write('\r\u001b[2K')
    },
  }
}

/**
 * What a file holds that was named on the command line.
 * @throws UsageError that names the file and nothing of its content, which may be a private key.
 */
export async function readJsonFile(path: string): Promise<object> {
  const text = await readFile(path, 'utf8').catch((cause: unknown) => {
    throw new UsageError(`${path} cannot be read.`, { cause })
  })
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    // The parser quotes some of what it could not read.
  }
  if (typeof value === 'object' && value !== null) return value
  throw new UsageError(`${path} must hold a JSON object.`)
}
